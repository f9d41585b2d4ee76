#pragma once
// normk.rmsnorm: root mean square norm in f64, its gradient, and two checks of them.
//
//   rstd[i] = 1 / sqrt(sum_j x[i,j]^2 / n_cols + eps)       y[i,j] = x[i,j] * rstd[i] * gamma[j]
//
// with g = dy * gamma, the gradient of sum(dy * y):
//   dx[i,j] = rstd[i] * (g[i,j] - x[i,j] * rstd[i]^2 * sum_k g[i,k] x[i,k] / n_cols)
//   dgamma[j] = sum_i dy[i,j] * (x[i,j] * rstd[i])
//
// Shapes   x, dy, y, dx: f64[n_rows, n_cols] row-major; gamma, dgamma: f64[n_cols]; rstd: f64[n_rows]; exact lengths
// Bits     sums start at +0.0 and run in the order of their index, product then addition, two roundings: the same bits
//          for every thread count and ISA
// Error    |y - exact| <= norm_tol_for(y, n_cols) = (n_cols / 2 + 6) 2^-53 |y|; with u = 2^-53 and the rstd given,
//          |dx - exact| <= (n_cols + 10) u rstd (|g| + |x| rstd^2 sum|g x| / n_cols),
//          |dgamma - exact| <= (n_rows + 3) u sum|dy x rstd|, all as long as no square over- or underflows
// Range    a row whose squares overflow has rstd 0; a NaN or an infinity makes its own row NaN or 0, no other
// Threads  the rows (for dgamma the columns) are shared out over the arena from kParallelMinCells cells on
// Status   380; else 381, 384, 386, 388 (dy), 382 (x), 383 (gamma), 389 (rstd) with lists empty and numbers 0
// Source   Zhang and Sennrich, arXiv:1910.07467

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::normk {

struct NormOut {
  std::vector<double> y;
  std::vector<double> rstd;
  std::int64_t n_rows;
  std::int64_t n_cols;
  std::int64_t status;
  static constexpr std::array kFields{"y", "rstd", "n_rows", "n_cols", "status"};
};
NormOut rmsnorm_fwd_flat(Context& context, std::span<const double> x, std::span<const double> gamma,
                         std::int64_t n_rows, std::int64_t n_cols, double eps);

struct NormGrad {
  std::vector<double> dx;
  std::vector<double> dgamma;
  std::int64_t n_rows;
  std::int64_t n_cols;
  std::int64_t status;
  static constexpr std::array kFields{"dx", "dgamma", "n_rows", "n_cols", "status"};
};
NormGrad rmsnorm_bwd_flat(Context& context, std::span<const double> dy, std::span<const double> x,
                          std::span<const double> gamma, std::span<const double> rstd, std::int64_t n_rows,
                          std::int64_t n_cols);

struct NormAgreement {
  double max_abs_delta;
  double tolerance_at_max;
  bool within_tolerance;
  std::int64_t n_compared;
  std::int64_t status;
  static constexpr std::array kFields{"max_abs_delta", "tolerance_at_max", "within_tolerance", "n_compared", "status"};
};
// rmsnorm_fwd_flat against fused_kernels.fused_layernorm_element(x, 0, 1 / rms, gamma, 0), value by value, the mean
// square from a compensated sum.
NormAgreement rmsnorm_agrees_with_frozen_flat(Context& context, std::span<const double> x,
                                              std::span<const double> gamma, std::int64_t n_rows, std::int64_t n_cols,
                                              double eps);
// rmsnorm_bwd_flat against the slopes of a loss with fixed weights (modules/agreement.h): every dx, then every dgamma.
// n_rows * n_cols^2 at most kMaxGradcheckWork.
NormAgreement rmsnorm_gradcheck_flat(Context& context, std::span<const double> x, std::span<const double> gamma,
                                     std::int64_t n_rows, std::int64_t n_cols, double eps, double step);

}  // namespace krt::normk
