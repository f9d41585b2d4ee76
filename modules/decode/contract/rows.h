#pragma once
// How decode kernels split independent work over threads. A part never depends on what another computes, so that the
// bits are the same for every thread count and batch size.

#include <algorithm>
#include <cstddef>

#include "runtime/exec/arena.h"

namespace krt::decode {

// Below this many values a call runs in the calling thread: waking another one costs more than it saves.
inline constexpr std::size_t kParallelMinValues = std::size_t{1} << 16;

// body(row) for every row of `d` values.
template <class Body>
void for_rows(Arena& arena, std::size_t rows, std::size_t d, const Body& body) {
  const auto threads = static_cast<std::size_t>(arena.threads());
  const std::size_t parts = rows * d < kParallelMinValues ? 1 : std::min(rows, threads);
  arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(rows, parts, part);
    for (std::size_t row = r.begin; row < r.end; ++row) body(row);
  });
}

// body(begin, count) for consecutive ranges of n values.
template <class Body>
void for_ranges(Arena& arena, std::size_t n, const Body& body) {
  constexpr std::size_t kGrain = 1024;
  const std::size_t parts = n < kParallelMinValues ? 1 : static_cast<std::size_t>(arena.threads());
  arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(n, parts, part, kGrain);
    if (r.begin < r.end) body(r.begin, r.end - r.begin);
  });
}

}  // namespace krt::decode
