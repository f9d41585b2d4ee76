#pragma once
// normk.layernorm: layer norm in f64, its gradient, and two checks of them.
//
//   mean[i] = sum_j x[i,j] / n_cols          var[i] = sum_j (x[i,j] - mean[i])^2 / n_cols, in a second pass
//   rstd[i] = 1 / sqrt(var[i] + eps)         y[i,j] = (x[i,j] - mean[i]) * rstd[i] * gamma[j] + beta[j]
//
// with g = dy * gamma and h = (x - mean) * rstd, the gradient of sum(dy * y):
//   dx[i,j] = rstd[i] * (g[i,j] - sum_k g[i,k] / n_cols - h[i,j] * (sum_k g[i,k] h[i,k] / n_cols))
//   dgamma[j] = sum_i dy[i,j] * h[i,j]       dbeta[j] = sum_i dy[i,j]
//
// Shapes   x, dy, y, dx: f64[n_rows, n_cols] row-major; gamma, beta, dgamma, dbeta: f64[n_cols]; mean, rstd:
// f64[n_rows];
//          exact lengths
// Bits     sums start at +0.0 and run in the order of their index, product then addition, two roundings: the same bits
//          for every thread count and ISA
// Error    with u = 2^-53 and E = (n_cols + 2) u rstd sum_j|x| / n_cols, the relative rounding of the mean in units of
//          the row's spread: |y - exact| <= |gamma| (E + |h| ((n_cols / 2 + 6) u + E^2)) + 2 u (|gamma h| + |beta|);
//          with the mean and rstd given, |dx - exact| <= (n_cols + 10) u rstd (|g| + sum|g| / n_cols +
//          |h| sum|g h| / n_cols), |dgamma - exact| <= (n_rows + 4) u sum|dy h|, |dbeta - exact| <= n_rows u sum|dy|;
//          all as long as no square over- or underflows
// Range    a NaN or an infinity makes its own row NaN, no other
// Threads  the rows (for dgamma and dbeta the columns) are shared out over the arena from kParallelMinCells cells on
// Status   380; else 381, 384, 386, then 388 (dy), 382 (x), 383 (gamma), 387 (beta), 389 (mean, rstd) with lists empty
//          and numbers 0
// Source   Ba, Kiros and Hinton, arXiv:1607.06450

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::normk {

struct LayerNormOut {
  std::vector<double> y;
  std::vector<double> mean;
  std::vector<double> rstd;
  std::int64_t n_rows;
  std::int64_t n_cols;
  std::int64_t status;
  static constexpr std::array kFields{"y", "mean", "rstd", "n_rows", "n_cols", "status"};
};
LayerNormOut layernorm_fwd_flat(Context& context, std::span<const double> x, std::span<const double> gamma,
                                std::span<const double> beta, std::int64_t n_rows, std::int64_t n_cols, double eps);

struct LayerNormGrad {
  std::vector<double> dx;
  std::vector<double> dgamma;
  std::vector<double> dbeta;
  std::int64_t n_rows;
  std::int64_t n_cols;
  std::int64_t status;
  static constexpr std::array kFields{"dx", "dgamma", "dbeta", "n_rows", "n_cols", "status"};
};
LayerNormGrad layernorm_bwd_flat(Context& context, std::span<const double> dy, std::span<const double> x,
                                 std::span<const double> gamma, std::span<const double> mean,
                                 std::span<const double> rstd, std::int64_t n_rows, std::int64_t n_cols);

struct LayerNormAgreement {
  double max_abs_delta;
  double tolerance_at_max;
  bool within_tolerance;
  std::int64_t n_compared;
  std::int64_t status;
  static constexpr std::array kFields{"max_abs_delta", "tolerance_at_max", "within_tolerance", "n_compared", "status"};
};
// layernorm_bwd_flat against the slopes of a loss with fixed weights (modules/agreement.h): every dx, dgamma, dbeta.
// n_rows * n_cols^2 at most kMaxGradcheckWork.
LayerNormAgreement layernorm_gradcheck_flat(Context& context, std::span<const double> x, std::span<const double> gamma,
                                            std::span<const double> beta, std::int64_t n_rows, std::int64_t n_cols,
                                            double eps, double step);
// The variance of every row in two passes against Welford's single pass; each may be off by n_cols roundings of
// sd * rms, plus the square of those of the mean.
LayerNormAgreement layernorm_variance_agrees_flat(std::span<const double> x, std::int64_t n_rows, std::int64_t n_cols);

}  // namespace krt::normk
