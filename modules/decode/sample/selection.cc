#include "modules/decode/sample/selection.h"

#include <bit>
#include <limits>

#include "modules/decode/contract/contract.h"

namespace krt::decode {
namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kAnyFinite = std::numeric_limits<float>::lowest();
constexpr auto weight_in = [](const Candidate& c) { return c.weight; };
// How many blocks are looked at first where a nucleus is wanted: what a trained model's rows seldom exceed.
constexpr std::size_t kLikely = 256;

// The lowest logit whose score is at least that, by bisection over the floats in order: division by the temperature is
// monotone, so that whole rows are compared with it and only what is found is divided.
float lowest_logit(float at_least, float temperature) {
  const auto ordered = [](std::int64_t i) {  // 0 is +0, -1 is -0, -2 the negative number next to it
    const auto bits = static_cast<std::uint32_t>(i >= 0 ? i : INT32_MIN - (i + 1));
    return std::bit_cast<float>(bits);
  };
  std::int64_t low = -0x7F800001;  // -infinity: its score is too low
  std::int64_t high = 0x7F800000;  // +infinity
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (scaled(ordered(middle), temperature) >= at_least ? high : low) = middle;
  }
  return ordered(high);
}

}  // namespace

std::int64_t Selection::open(std::span<const float> logits, float temperature) {
  logits_ = logits;
  temperature_ = temperature;
  work_.candidates.clear();
  work_.block_max.resize((logits.size() + kBlock - 1) / kBlock);
  const RowScan row = passes_.scan(logits.data(), logits.size(), work_.block_max.data());
  if (row.nan) return kNanLogit;
  all_finite_ = scaled(row.min, temperature) != -kInfinity;
  max_ = scaled(*std::max_element(work_.block_max.begin(), work_.block_max.end()), temperature);
  if (max_ == kInfinity) return kInfiniteLogit;
  return max_ == -kInfinity ? kNoFiniteLogit : kOk;
}

std::uint32_t Selection::argmax() const {
  const auto best = [&](float logit) { return scaled(logit, temperature_) == max_; };
  const auto block = std::find_if(work_.block_max.begin(), work_.block_max.end(), best) - work_.block_max.begin();
  const auto from = logits_.begin() + block * static_cast<std::ptrdiff_t>(kBlock);
  return static_cast<std::uint32_t>(std::find_if(from, logits_.end(), best) - logits_.begin());
}

std::size_t Selection::count() const {
  if (!whole_) return work_.candidates.size();
  if (all_finite_) return logits_.size();
  return static_cast<std::size_t>(std::count_if(
      logits_.begin(), logits_.end(), [&](float logit) { return scaled(logit, temperature_) != -kInfinity; }));
}

double Selection::total() {
  if (!total_ && whole_) total_ = passes_.weight_sum(logits_.data(), logits_.size(), temperature_, max_);
  if (!total_) {
    total_ = 0;
    for (const Candidate& c : gathered()) *total_ += c.weight;
  }
  return *total_;
}

double Selection::entropy() {
  double moment = 0;
  if (whole_) {
    moment = passes_.moment_sum(logits_.data(), logits_.size(), temperature_, max_);
  } else {
    for (const Candidate& c : gathered()) moment += c.weight * difference(c.score, max_);
  }
  return std::log(total()) - moment / total();
}

float Selection::reached_by(std::size_t k) {
  if (k <= 1) return max_;
  if (k > work_.block_max.size()) return kAnyFinite;
  work_.order = work_.block_max;
  const auto at = work_.order.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(work_.order.begin(), at, work_.order.end(), std::greater<>());
  return std::max(scaled(*at, temperature_), kAnyFinite);
}

float Selection::score_of_weight(double weight) const {
  if (!(weight > 0)) return kAnyFinite;
  // Lower by more than what the roundings of score and logarithm can hide.
  const double log_weight = std::log(weight);
  const double slack = (std::fabs(static_cast<double>(max_)) + std::fabs(log_weight)) * 0x1p-22 + 0x1p-30;
  const double score = static_cast<double>(max_) + log_weight - slack;
  return log_weight <= kLowest ? kAnyFinite : static_cast<float>(std::max(score, static_cast<double>(kAnyFinite)));
}

void Selection::gather(float at_least) {
  if (gathered_) return;
  gathered_ = true;
  complete_ = at_least == kAnyFinite;
  const float lowest = lowest_logit(at_least, temperature_);
  constexpr std::size_t kBlocks = kChunk / kBlock;
  for (std::size_t begin = 0, block = 0; begin < logits_.size(); begin += kChunk, block += kBlocks) {
    const std::size_t n = std::min(kChunk, logits_.size() - begin);
    const std::size_t found = passes_.collect(logits_.data() + begin, n, work_.block_max.data() + block, lowest,
                                              temperature_, max_, work_.hits);
    for (std::size_t i = 0; i < found; ++i)
      work_.candidates.push_back(
          {work_.hits.weight[i], work_.hits.score[i], static_cast<std::uint32_t>(begin) + work_.hits.position[i]});
  }
}

void Selection::gather_all() { gather(kAnyFinite); }

double Selection::rest() {
  if (complete_) return 0;
  double rest = total();
  for (const Candidate& c : gathered()) rest -= c.weight;
  return rest;
}

void Selection::gather_but(double tail, std::size_t keep) {
  if (gathered_) return;
  gather(reached_by(std::max(kLikely, keep)));
  if (rest() <= tail * kBelow) return;
  gathered_ = false;
  work_.candidates.clear();
  // Even if all tokens of a lower weight stood behind one another, they would not make up the tail.
  const double weight = tail / static_cast<double>(vocabulary()) * kBelow;
  gather(std::min(score_of_weight(weight), reached_by(keep)));
}

Candidate Selection::draw(double u) {
  const double total = this->total();
  gather_but((1 - u) * total, 1);
  return edge(descending, weight_in, [&](double cumulative) { return cumulative / total > u; });
}

void Selection::sort() {
  gather_all();
  std::sort(work_.candidates.begin(), work_.candidates.end(), before);
}

}  // namespace krt::decode
