#pragma once
// For tests: transformers' warpers, written down a second time and the long way: whole rows, full sorts, no thresholds.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "modules/decode/sample/sample.h"

namespace krt::decode::testing {

using Scores = std::vector<float>;
inline constexpr float kOut = -std::numeric_limits<float>::infinity();

// Ids by descending score, ties to the lower id.
inline std::vector<std::size_t> ranked(const Scores& s) {
  std::vector<std::size_t> ids(s.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](std::size_t a, std::size_t b) { return s[a] > s[b]; });
  return ids;
}

inline std::vector<double> softmax(const Scores& s) {
  const float top = *std::max_element(s.begin(), s.end());
  std::vector<double> p;
  for (const float x : s) p.push_back(std::exp(static_cast<double>(x) - static_cast<double>(top)));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

inline double entropy(const std::vector<double>& p) {
  return std::accumulate(p.begin(), p.end(), 0.0, [](double h, double x) { return x > 0 ? h - x * std::log(x) : h; });
}

// Drops what `keep` does not hold for, but never the first `floor` of `order`.
template <class Keep>
void filter(Scores& s, const std::vector<std::size_t>& order, std::size_t floor, Keep keep) {
  for (std::size_t rank = floor; rank < order.size(); ++rank)
    if (!keep(rank)) s[order[rank]] = kOut;
}

inline void oracle_top_p(Scores& s, double top_p, std::size_t floor) {
  const auto order = ranked(s);
  const auto p = softmax(s);
  std::vector<float> from_below(s.size());  // inclusive cumulative sums of the ascending order
  double sum = 0;
  for (std::size_t rank = s.size(); rank-- > 0;)
    from_below[rank] = static_cast<float>(sum += static_cast<float>(p[order[rank]]));
  filter(s, order, floor, [&](std::size_t rank) { return !(from_below[rank] <= static_cast<float>(1 - top_p)); });
}

inline void oracle_typical(Scores& s, double mass, std::size_t floor) {
  const auto p = softmax(s);
  const double h = entropy(p);
  std::vector<double> distance;
  for (const double x : p) distance.push_back(std::fabs(-std::log(x) - h));
  std::vector<std::size_t> order(s.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return distance[a] < distance[b]; });
  std::size_t last = 0;
  for (double sum = p[order[0]]; sum < mass && last + 1 < s.size(); sum += p[order[last]]) ++last;
  const double furthest = distance[order[last]];
  filter(s, order, floor, [&](std::size_t rank) { return distance[order[rank]] <= furthest; });
}

inline void oracle_top_h(Scores& s, double alpha) {
  auto order = ranked(s);
  for (std::size_t rank = 100; rank < order.size(); ++rank) s[order[rank]] = kOut;
  const auto p = softmax(s);
  const double limit = entropy(p) * alpha;
  double sum = 0;
  filter(s, order, 1, [&, next = std::size_t{0}](std::size_t rank) mutable {
    for (; next <= rank; ++next) sum += p[order[next]] > 0 ? -p[order[next]] * std::log(p[order[next]]) : 0;
    return static_cast<float>(sum) <= static_cast<float>(limit) && static_cast<float>(p[order[rank]]) > 0;
  });
}

// epsilon and eta: those of less probability go, unless their score reaches the floor-th highest.
inline void oracle_cutoff(Scores& s, double least, std::size_t floor) {
  const auto p = softmax(s);
  const float safe = s[ranked(s)[std::min(floor, s.size()) - 1]];
  for (std::size_t i = 0; i < s.size(); ++i)
    if (p[i] < least && s[i] < safe) s[i] = kOut;
}

inline std::vector<std::int64_t> oracle_survivors(std::span<const float> logits, const SampleOptions& o,
                                                  std::span<const std::int64_t> history = {}) {
  Scores s(logits.begin(), logits.end());
  for (std::size_t i = 0; i < s.size(); ++i) {
    const auto times = std::count(history.begin(), history.end(), static_cast<std::int64_t>(i));
    if (times == 0) continue;
    const auto r = static_cast<float>(o.repetition_penalty);
    s[i] = s[i] < 0 ? s[i] * r : s[i] / r;
    s[i] = static_cast<float>(s[i] - (o.frequency_penalty * static_cast<double>(times) + o.presence_penalty));
  }
  for (float& x : s) x /= static_cast<float>(o.temperature);
  const auto floor = static_cast<std::size_t>(o.min_tokens_to_keep);
  if (o.top_h > 0) oracle_top_h(s, o.top_h);
  if (o.top_k > 0) {
    const auto order = ranked(s);
    const std::size_t k = std::min(std::max(static_cast<std::size_t>(o.top_k), floor), s.size());
    const float least = s[order[k - 1]];
    filter(s, order, k, [&](std::size_t rank) { return !o.exact_top_k && s[order[rank]] >= least; });
  }
  if (o.top_p < 1) oracle_top_p(s, o.top_p, floor);
  if (o.min_p > 0) {
    const auto order = ranked(s);
    const auto p = softmax(s);
    filter(s, order, floor, [&](std::size_t rank) { return p[order[rank]] >= o.min_p * p[order[0]]; });
  }
  if (o.typical_p < 1) oracle_typical(s, o.typical_p, floor);
  if (o.epsilon_cutoff > 0) oracle_cutoff(s, o.epsilon_cutoff, floor);
  if (o.eta_cutoff > 0) {
    const double least = std::sqrt(o.eta_cutoff) * std::exp(-entropy(softmax(s)));
    oracle_cutoff(s, std::min(o.eta_cutoff, least), floor);
  }
  std::vector<std::int64_t> kept;
  for (const std::size_t id : ranked(s))
    if (s[id] != kOut) kept.push_back(static_cast<std::int64_t>(id));
  return kept;
}

}  // namespace krt::decode::testing
