#pragma once
// llmk.gemv_fast: y = A^T x, y[j] = sum_i a[i,j] x[i], the projection of a decode step, on every core.
//
// Shapes   a: f64[m,n] row-major, exactly m * n values; x: f64[m]; y: f64[n]; 1 <= m, n <= 2^24
// Bits     those of gemm.blocked.gemv_flat(trans = true) at every thread count and on every ISA: each column starts at
//          +0.0 and adds its products in the order of i, product then addition, two roundings
// Error    |y - exact| <= (m + 1) 2^-53 sum |a x|
// Threads  m * n >= kGemvParallelMinCells: the columns are cut into one band a thread; below, gemv_flat itself answers
// Status   560; else 561, 564, 569 (len(a) != m * n), 570 (len(x) != m) with y empty and n 0

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::llmk {

inline constexpr std::int64_t kGemvParallelMinCells = std::int64_t{1} << 16;

struct ParallelGemvResult {
  std::vector<double> y;
  std::int64_t n;
  std::int64_t status;
  static constexpr std::array kFields{"y", "n", "status"};
};
ParallelGemvResult gemv_transposed_parallel_flat(Context& context, std::span<const double> a, std::span<const double> x,
                                                 std::int64_t m, std::int64_t n);

}  // namespace krt::llmk
