#pragma once
// The shape checks that the f64 families share: each family has its own numbers for them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace krt {

// One family's statuses of a dimension, and its largest.
struct DimRule {
  std::int64_t ok, empty, too_large, max;
};
// Emptiness of any dimension comes before size of any.
constexpr std::int64_t check_dims(const DimRule& rule, std::initializer_list<std::int64_t> dims) {
  if (std::min(dims) < 1) return rule.empty;
  return std::max(dims) > rule.max ? rule.too_large : rule.ok;
}

// One list of a call: how long it is, how long it must be, and the status where it is not.
struct Length {
  std::size_t len;
  std::int64_t want;
  std::int64_t mismatch;
};
// `ok`, or the status of the first list that has another length.
constexpr std::int64_t check_lengths(std::int64_t ok, std::initializer_list<Length> lengths) {
  for (const Length& l : lengths)
    if (static_cast<std::int64_t>(l.len) != l.want) return l.mismatch;
  return ok;
}

}  // namespace krt
