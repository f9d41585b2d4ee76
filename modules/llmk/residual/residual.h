#pragma once
// llmk.residual: out[i] = a[i] + b[i], the residual-stream add that a decoder layer does twice.
//
// Shapes   a, b, out: f64[n], exactly n values, 1 <= n <= 2^24
// Bits     one IEEE addition per element: the same for every thread count and ISA
// Threads  n >= kResidualParallelMinCells is split over the arena; below, one loop in the caller
// Status   560; else 561, 564, 562 (len(a) != n), 563 (len(b) != n) with out empty and n 0

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::llmk {

inline constexpr std::size_t kResidualParallelMinCells = std::size_t{1} << 15;

struct ResidResult {
  std::vector<double> out;
  std::int64_t n;
  std::int64_t status;
  static constexpr std::array kFields{"out", "n", "status"};
};
ResidResult residual_add_flat(Context& context, std::span<const double> a, std::span<const double> b, std::int64_t n);

}  // namespace krt::llmk
