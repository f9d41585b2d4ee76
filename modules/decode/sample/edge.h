#pragma once
// The edge of a weighted prefix without a sort: candidates in ascending order of a key (ties: the lower id first), and
// the first of them at which the cumulative weight satisfies a condition that stays true once it is. The nucleus of
// top-p, the typical set, the k-th best and the draw itself are such prefixes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace krt::decode {

struct Candidate {
  double weight;  // exp(score - max)
  float score;    // logit after penalties, over the temperature
  std::uint32_t id;
};

inline constexpr std::size_t kSortBelow = 64;
inline constexpr std::size_t kBuckets = 1024;

// The candidates of the bucket in which the edge lies, copied to `to` (which may be where `from` is); `cumulative`
// grows by the weight of those before it. Nothing where all keys are equal. A bucket is a 1024th of the keys' range,
// so that even keys that grow by powers of two take few levels.
template <class Key, class Weight, class Stop>
std::span<Candidate> edge_bucket(std::span<const Candidate> from, Candidate* to, double& cumulative, const Key& key,
                                 const Weight& weight, const Stop& stop) {
  double low = key(from[0]);
  double high = low;
  for (const Candidate& c : from) {
    low = std::min(low, key(c));
    high = std::max(high, key(c));
  }
  if (!(high > low)) return {};
  const double scale = static_cast<double>(kBuckets) / (high - low);
  const auto bucket = [&](const Candidate& c) {
    return std::min(static_cast<std::size_t>((key(c) - low) * scale), kBuckets - 1);
  };
  double sums[kBuckets] = {};
  for (const Candidate& c : from) sums[bucket(c)] += weight(c);
  std::size_t edge = 0;
  while (edge + 1 < kBuckets && !stop(cumulative + sums[edge])) cumulative += sums[edge++];
  std::size_t n = 0;
  for (const Candidate& c : from) {  // without a branch that nobody can predict
    const bool in = bucket(c) == edge;
    to[n] = c;
    n += in ? 1 : 0;
  }
  return {to, n};
}

// `from` is not empty; `scratch` holds as many. Where the condition is never met: the last candidate.
template <class Key, class Weight, class Stop>
Candidate find_edge(std::span<const Candidate> from, Candidate* scratch, const Key& key, const Weight& weight,
                    const Stop& stop) {
  double cumulative = 0;
  while (from.size() > kSortBelow) {
    const std::span<Candidate> bucket = edge_bucket(from, scratch, cumulative, key, weight, stop);
    if (bucket.empty()) break;
    from = bucket;
  }
  if (from.data() != scratch) std::copy(from.begin(), from.end(), scratch);
  const std::span<Candidate> rest(scratch, from.size());
  const auto before = [&](const Candidate& a, const Candidate& b) {
    return key(a) != key(b) ? key(a) < key(b) : a.id < b.id;
  };
  if (!std::is_sorted(rest.begin(), rest.end(), before)) std::sort(rest.begin(), rest.end(), before);
  for (const Candidate& c : rest) {
    cumulative += weight(c);
    if (stop(cumulative)) return c;
  }
  return rest.back();
}

}  // namespace krt::decode
