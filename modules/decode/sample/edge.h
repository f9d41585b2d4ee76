#pragma once
// The edge of a weighted prefix without a sort: items in ascending order of their keys (ties: the lower id first), and
// the first of them at which the cumulative weight satisfies a condition that stays true once it is. The nucleus of
// top-p, the typical set and the draw itself are such prefixes.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace krt::decode {

struct Keyed {
  double key;
  double weight;
  std::uint32_t id;
};
inline bool operator<(const Keyed& a, const Keyed& b) { return a.key != b.key ? a.key < b.key : a.id < b.id; }

inline constexpr std::size_t kSortBelow = 64;
inline constexpr std::size_t kBuckets = 1024;

// Leaves only the items of the bucket in which the edge lies, and adds the weight of those before it to `before`.
// False where the keys are all equal. At most one level for each 1024-fold of the keys' dynamic range.
template <class Stop>
bool narrow(std::vector<Keyed>& items, double& before, const Stop& stop) {
  const auto [low, high] =
      std::minmax_element(items.begin(), items.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
  const double first = low->key;
  if (!(high->key > first)) return false;
  const double scale = static_cast<double>(kBuckets) / (high->key - first);
  const auto bucket = [&](const Keyed& item) {
    return std::min(static_cast<std::size_t>((item.key - first) * scale), kBuckets - 1);
  };
  double sums[kBuckets] = {};
  for (const Keyed& item : items) sums[bucket(item)] += item.weight;
  std::size_t edge = 0;
  while (edge + 1 < kBuckets && !stop(before + sums[edge])) before += sums[edge++];
  std::erase_if(items, [&](const Keyed& item) { return bucket(item) != edge; });
  return true;
}

// `items` is not empty and comes back changed. Where the condition is never met: the last item.
template <class Stop>
Keyed find_edge(std::vector<Keyed>& items, const Stop& stop) {
  double cumulative = 0;
  while (items.size() > kSortBelow && narrow(items, cumulative, stop)) {
  }
  if (!std::is_sorted(items.begin(), items.end())) std::sort(items.begin(), items.end());
  for (const Keyed& item : items) {
    cumulative += item.weight;
    if (stop(cumulative)) return item;
  }
  return items.back();
}

}  // namespace krt::decode
