#pragma once
// gemm.blocked: matrix-vector products in f64; the matrix-matrix product and its plan are in sgemm.h.
//
// gemv_flat, trans = false   c[i] = sum_j a[i,j] x[j]   x: f64[n], c: f64[m]
//            trans = true    c[j] = sum_i a[i,j] x[i]   x: f64[m], c: f64[n]
//
// Shapes   a: f64[m,n] row-major, exactly m * n values; x exactly as above; 1 <= m, n <= 2^24
// Bits     every sum starts at +0.0 and runs in the order of its index, product then addition, two roundings: the
//          same bits for every thread count and ISA
// Error    |c - exact| <= (terms + 1) 2^-53 sum |a x|, the standard bound of recursive summation
// Threads  trans = false with m * n >= kGemvParallelMinCells splits the rows over the arena; trans = true is the
//          plain serial reference that llmk.gemv_fast is compared with
// Result   rows, cols: shape of c (as a column); flop_count 2 m n; backend_used 0 serial, 1 parallel
// Status   320; else 321, 324, 322 (len(a)), 326 (len(x)) with c empty and every number 0

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::gemm {

inline constexpr std::size_t kGemvParallelMinCells = std::size_t{1} << 16;

struct GemmResult {
  std::vector<double> c;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t backend_used;
  double flop_count;
  std::int64_t status;
  static constexpr std::array kFields{"c", "rows", "cols", "backend_used", "flop_count", "status"};
};

GemmResult gemv_flat(Context& context, std::span<const double> a, std::span<const double> x, std::int64_t m,
                     std::int64_t n, bool trans);

// c[j] += sum_i a[i,j] x[i] over the columns [begin, end) of the m by n matrix `a`, in the order of i: the plain loop.
void gemv_transposed_columns(const double* a, std::span<const double> x, std::size_t n, std::size_t begin,
                             std::size_t end, double* c);

}  // namespace krt::gemm
