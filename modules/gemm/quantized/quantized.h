#pragma once
// gemm.quantized: products with weights stored as codes and one f64 scale for each block of a row, in f64.
//
//   gemv_int_flat   y[i] = sum over blocks b of scale[i,b] * (sum over j in b of code[i,j] x[j]); codes are signed
//                   integers of `bits` bits, -2^(bits-1) to 2^(bits-1) - 1
//   gemv_nf4_flat   the same with kNf4[code] for the code, 0 to 15: the 4-bit NormalFloat of QLoRA
//   gemm_nf4_flat   y[i,c] = that for every column c of x
//
// Shapes   gemv: w_codes: i64[m,n], w_scales: f64[m, n / block], x: f64[n], y: f64[m]
//          gemm: w_codes: i64[m,k], w_scales: f64[m, k / block], x: f64[k,n], y: f64[m,n], row-major, as gemm's
//          m, n, k; exact lengths; the block divides the row; dimensions 1 to 2^24, m * n at most 2^28, at most
//          2^41 flops
// Bits     a block's sum starts at +0.0 and runs in the order of its columns; the sum of scaled blocks starts at +0.0
//          and runs in their order; product then addition: the same bits for every thread count
// Error    |y - exact| <= (terms + 4) 2^-53 sum|scale level x|
// Threads  the rows are shared out from kGemvParallelMinCells codes times columns on
// Result   rows, cols: shape of y (of a gemv: m, 1); flop_count 2 for each code and column
// Status   320; else 321, 324, 330 (block), 331 (bits), 328 (w_codes), 329 (w_scales), 326 (x), 332 (a code out of its
//          range) with y empty and every number 0
// Source   Dettmers, Pagnoni, Holtzman and Zettlemoyer, arXiv:2305.14314, appendix E

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::gemm {

// Quantiles of a normal distribution scaled to [-1, 1], with an exact 0; f32 values, as published.
inline constexpr std::array<double, 16> kNf4{
    -1.0F,      -0.6961928F, -0.52507305F, -0.3949175F, -0.28444138F, -0.18477343F, -0.091050036F, 0.0F,
    0.0795803F, 0.1609302F,  0.2461123F,   0.33791524F, 0.44070983F,  0.562617F,    0.72295684F,   1.0F};

struct QGemmResult {
  std::vector<double> y;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t backend_used;
  double flop_count;
  std::int64_t status;
  static constexpr std::array kFields{"y", "rows", "cols", "backend_used", "flop_count", "status"};
};
QGemmResult gemv_int_flat(Context& context, std::span<const std::int64_t> w_codes, std::span<const double> w_scales,
                          std::span<const double> x, std::int64_t m, std::int64_t n, std::int64_t block,
                          std::int64_t bits);
QGemmResult gemv_nf4_flat(Context& context, std::span<const std::int64_t> w_codes, std::span<const double> w_scales,
                          std::span<const double> x, std::int64_t m, std::int64_t n, std::int64_t block);
QGemmResult gemm_nf4_flat(Context& context, std::span<const std::int64_t> w_codes, std::span<const double> w_scales,
                          std::span<const double> x, std::int64_t m, std::int64_t n, std::int64_t k,
                          std::int64_t block);

struct QDelta {
  double max_abs_delta;
  double tolerance_at_max;
  bool within_tolerance;
  std::int64_t n_compared;
  std::int64_t status;
  static constexpr std::array kFields{"max_abs_delta", "tolerance_at_max", "within_tolerance", "n_compared", "status"};
};
// gemv_nf4_flat against weights unpacked first, scale * level, and summed in long double; each row within the bound.
QDelta quantized_gemv_golden_delta(Context& context, std::span<const std::int64_t> w_codes,
                                   std::span<const double> w_scales, std::span<const double> x, std::int64_t m,
                                   std::int64_t n, std::int64_t block);

}  // namespace krt::gemm
