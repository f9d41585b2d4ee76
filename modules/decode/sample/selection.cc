#include "modules/decode/sample/selection.h"

#include <limits>

#include "modules/decode/contract/contract.h"

namespace krt::decode {
namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kAnyFinite = std::numeric_limits<float>::lowest();
}  // namespace

std::int64_t Selection::open(std::span<const float> logits, float temperature) {
  logits_ = logits;
  temperature_ = temperature;
  work_.candidates.clear();
  work_.block_max.resize((logits.size() + kBlock - 1) / kBlock);
  if (passes_.scan(logits.data(), logits.size(), work_.block_max.data())) return kNanLogit;
  for (float& m : work_.block_max) m = scaled(m, temperature);
  max_ = *std::max_element(work_.block_max.begin(), work_.block_max.end());
  if (max_ == kInfinity) return kInfiniteLogit;
  return max_ == -kInfinity ? kNoFiniteLogit : kOk;
}

std::uint32_t Selection::argmax() const {
  const auto block = std::find(work_.block_max.begin(), work_.block_max.end(), max_) - work_.block_max.begin();
  std::size_t i = static_cast<std::size_t>(block) * kBlock;
  while (scaled(logits_[i], temperature_) != max_) ++i;
  return static_cast<std::uint32_t>(i);
}

std::size_t Selection::count() const {
  if (!whole_) return work_.candidates.size();
  return static_cast<std::size_t>(std::count_if(
      logits_.begin(), logits_.end(), [&](float logit) { return scaled(logit, temperature_) != -kInfinity; }));
}

const ExpSums& Selection::sums() {
  if (sums_) return *sums_;
  if (whole_) return sums_.emplace(passes_.exp_sums(logits_.data(), logits_.size(), temperature_, max_));
  ExpSums s{0, 0};
  for (const Candidate& c : work_.candidates) {
    s.weight += c.weight;
    s.moment += c.weight * std::max(c.score - max_, kLowest);
  }
  return sums_.emplace(s);
}

double Selection::total() { return sums().weight; }

double Selection::entropy() {
  const ExpSums& s = sums();
  return std::log(s.weight) - s.moment / s.weight;
}

float Selection::reached_by(std::size_t k) {
  if (k <= 1) return max_;
  if (k > work_.block_max.size()) return kAnyFinite;
  work_.order = work_.block_max;
  const auto at = work_.order.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(work_.order.begin(), at, work_.order.end(), std::greater<>());
  return std::max(*at, kAnyFinite);
}

float Selection::score_of_weight(double weight) const {
  if (!(weight > 0)) return kAnyFinite;
  // Lower by more than what the roundings of score, difference and logarithm can hide.
  const double log_weight = std::log(weight);
  const double slack = (std::fabs(static_cast<double>(max_)) + std::fabs(log_weight)) * 0x1p-22 + 0x1p-30;
  const double score = static_cast<double>(max_) + log_weight - slack;
  return log_weight <= static_cast<double>(kLowest)
             ? kAnyFinite
             : static_cast<float>(std::max(score, static_cast<double>(kAnyFinite)));
}

void Selection::gather(float at_least) {
  if (gathered_) return;
  gathered_ = true;
  constexpr std::size_t kBlocks = kChunk / kBlock;
  for (std::size_t begin = 0, block = 0; begin < logits_.size(); begin += kChunk, block += kBlocks) {
    const std::size_t n = std::min(kChunk, logits_.size() - begin);
    const std::size_t found = passes_.collect(logits_.data() + begin, n, work_.block_max.data() + block, temperature_,
                                              max_, at_least, work_.hits);
    for (std::size_t i = 0; i < found; ++i)
      work_.candidates.push_back(
          {work_.hits.weight[i], work_.hits.score[i], static_cast<std::uint32_t>(begin) + work_.hits.position[i]});
  }
}

void Selection::gather_all() { gather(kAnyFinite); }

Candidate Selection::draw(double u) {
  const double total = this->total();
  if (whole_) gather(score_of_weight((1 - u) * total / static_cast<double>(vocabulary())));
  const Keyed edge = this->edge([](const Candidate& c) { return -static_cast<double>(c.score); },
                                [&](double cumulative) { return cumulative / total > u; });
  return {edge.weight, static_cast<float>(-edge.key), edge.id};
}

void Selection::sort() {
  gather_all();
  std::sort(work_.candidates.begin(), work_.candidates.end(), before);
}

}  // namespace krt::decode
