#include "modules/normk/rmsnorm/rmsnorm.h"

#include <cmath>

#include "modules/fused_kernels/scalar/scalar.h"
#include "modules/normk/contract/rows.h"
#include "runtime/registry/module_builder.h"

namespace krt::normk {
namespace {

// 1 / rms of a row.
double reciprocal_rms(std::span<const double> x, double eps) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return 1 / std::sqrt(sum / static_cast<double>(x.size()) + eps);
}

double normalise_row(std::span<const double> x, std::span<const double> gamma, double eps, std::span<double> y) {
  const double rstd = reciprocal_rms(x, eps);
  for (std::size_t j = 0; j < x.size(); ++j) y[j] = x[j] * rstd * gamma[j];
  return rstd;
}

void gradient_row(std::span<const double> dy, std::span<const double> x, std::span<const double> gamma, double rstd,
                  std::span<double> dx) {
  double dot = 0;
  for (std::size_t j = 0; j < x.size(); ++j) dot += dy[j] * gamma[j] * x[j];
  const double along = rstd * rstd * dot / static_cast<double>(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) dx[j] = rstd * (dy[j] * gamma[j] - x[j] * along);
}

// The sum of squares with Neumaier's compensation: not the loop that it is compared with.
double compensated_mean_square(std::span<const double> x) {
  double sum = 0, lost = 0;
  for (const double v : x) {
    const double square = v * v, next = sum + square;
    lost += std::fabs(sum) >= square ? (sum - next) + square : (square - next) + sum;
    sum = next;
  }
  return (sum + lost) / static_cast<double>(x.size());
}

}  // namespace

NormOut rmsnorm_fwd_flat(Context& context, std::span<const double> x, std::span<const double> gamma,
                         std::int64_t n_rows, std::int64_t n_cols, double eps) {
  std::int64_t status = norm_dims_check(n_rows, n_cols, eps);
  if (status == kOk)
    status = check_lengths(
        kOk, {{x.size(), n_rows * n_cols, kXLengthMismatch}, {gamma.size(), n_cols, kGammaLengthMismatch}});
  if (status != kOk) return {{}, {}, 0, 0, status};
  const Rows rows(n_rows, n_cols);
  std::vector<double> y(x.size()), rstd(rows.count);
  rows.for_each(context, [&](std::size_t i) { rstd[i] = normalise_row(rows.of(x, i), gamma, eps, rows.of(y, i)); });
  return {std::move(y), std::move(rstd), n_rows, n_cols, kOk};
}

NormGrad rmsnorm_bwd_flat(Context& context, std::span<const double> dy, std::span<const double> x,
                          std::span<const double> gamma, std::span<const double> rstd, std::int64_t n_rows,
                          std::int64_t n_cols) {
  std::int64_t status = norm_dims_check(n_rows, n_cols, 1);
  if (status == kOk)
    status = check_lengths(kOk, {{dy.size(), n_rows * n_cols, kDyLengthMismatch},
                                 {x.size(), n_rows * n_cols, kXLengthMismatch},
                                 {gamma.size(), n_cols, kGammaLengthMismatch},
                                 {rstd.size(), n_rows, kStatsLengthMismatch}});
  if (status != kOk) return {{}, {}, 0, 0, status};
  const Rows rows(n_rows, n_cols);
  std::vector<double> dx(x.size());
  rows.for_each(context,
                [&](std::size_t i) { gradient_row(rows.of(dy, i), rows.of(x, i), gamma, rstd[i], rows.of(dx, i)); });
  std::vector<double> dgamma = rows.sum_columns(context, [&](std::size_t i, std::size_t j) {
    return dy[i * rows.width + j] * (x[i * rows.width + j] * rstd[i]);
  });
  return {std::move(dx), std::move(dgamma), n_rows, n_cols, kOk};
}

NormAgreement rmsnorm_agrees_with_frozen_flat(Context& context, std::span<const double> x,
                                              std::span<const double> gamma, std::int64_t n_rows, std::int64_t n_cols,
                                              double eps) {
  const NormOut out = rmsnorm_fwd_flat(context, x, gamma, n_rows, n_cols, eps);
  if (out.status != kOk) return {0, 0, false, 0, out.status};
  const Rows rows(n_rows, n_cols);
  Agreement agreement;
  for (std::size_t i = 0; i < rows.count; ++i) {
    const double inv_rms = 1 / std::sqrt(compensated_mean_square(rows.of(x, i)) + eps);
    for (std::size_t j = 0; j < rows.width; ++j) {
      const double want = fused_kernels::fused_layernorm_element(x[i * rows.width + j], 0, inv_rms, gamma[j], 0);
      // Once for each of the two, which round on their own.
      agreement.add(out.y[i * rows.width + j], want, 2 * norm_tol_for(want, n_cols));
    }
  }
  return agreement.result<NormAgreement>(kOk);
}

NormAgreement rmsnorm_gradcheck_flat(Context& context, std::span<const double> x, std::span<const double> gamma,
                                     std::int64_t n_rows, std::int64_t n_cols, double eps, double step) {
  std::int64_t status = gradcheck_dims_check(n_rows, n_cols, eps, step);
  if (status == kOk)
    status = check_lengths(
        kOk, {{x.size(), n_rows * n_cols, kXLengthMismatch}, {gamma.size(), n_cols, kGammaLengthMismatch}});
  if (status != kOk) return {0, 0, false, 0, status};
  const std::vector<double> dy = loss_weights(x.size());
  const NormOut out = rmsnorm_fwd_flat(context, x, gamma, n_rows, n_cols, eps);
  const NormGrad grad = rmsnorm_bwd_flat(context, dy, x, gamma, out.rstd, n_rows, n_cols);
  const auto forward = [&](std::span<const double> row, std::span<const double> scale, std::span<double> y) {
    normalise_row(row, scale, eps, y);
    return 0.0;  // nothing is subtracted
  };
  Agreement agreement;
  compare_slopes(Rows(n_rows, n_cols), x, gamma, dy, step, forward, grad.dx, grad.dgamma, agreement);
  return agreement.result<NormAgreement>(kOk);
}

void register_rmsnorm(Registry& registry) {
  ModuleBuilder m(registry, "normk.rmsnorm", "Root mean square norm in f64, its gradient and their checks");
  m.function<rmsnorm_agrees_with_frozen_flat>("rmsnorm_agrees_with_frozen_flat",
                                              "The norm against the scalar formula, value by value",
                                              {{"x", "the rows, exactly n_rows * n_cols values"},
                                               {"gamma", "scale of each column, exactly n_cols values"},
                                               {"n_rows", "how many rows, 1 to 2^24"},
                                               {"n_cols", "values in a row, 1 to 2^24"},
                                               {"eps", "what is added under the root, above 0"}})
      .statuses(kStatuses)
      .example("[[1,2,3,4],[1,0.5],2,2,1e-6]");
  m.function<rmsnorm_bwd_flat>("rmsnorm_bwd_flat", "The gradient of the norm",
                               {{"dy", "gradient of the output, exactly n_rows * n_cols values"},
                                {"x", "the rows, exactly n_rows * n_cols values"},
                                {"gamma", "scale of each column, exactly n_cols values"},
                                {"rstd", "as rmsnorm_fwd_flat returned it, exactly n_rows values"},
                                {"n_rows", "how many rows, 1 to 2^24"},
                                {"n_cols", "values in a row, 1 to 2^24"}})
      .statuses(kStatuses)
      .example("[[1,0,0,1],[1,2,3,4],[1,0.5],[0.6324555320336759,0.282842712474619],2,2]");
  m.function<rmsnorm_fwd_flat>("rmsnorm_fwd_flat", "Root mean square norm of every row",
                               {{"x", "the rows, exactly n_rows * n_cols values"},
                                {"gamma", "scale of each column, exactly n_cols values"},
                                {"n_rows", "how many rows, 1 to 2^24"},
                                {"n_cols", "values in a row, 1 to 2^24"},
                                {"eps", "what is added under the root, above 0"}})
      .statuses(kStatuses)
      .example("[[1,2,3,4],[1,0.5],2,2,1e-6]");
  m.function<rmsnorm_gradcheck_flat>("rmsnorm_gradcheck_flat", "The gradient against central differences of a loss",
                                     {{"x", "the rows, exactly n_rows * n_cols values"},
                                      {"gamma", "scale of each column, exactly n_cols values"},
                                      {"n_rows", "how many rows; n_rows * n_cols^2 at most 2^28"},
                                      {"n_cols", "values in a row"},
                                      {"eps", "what is added under the root, above 0"},
                                      {"step", "of the differences, above 0, such as 1e-4"}})
      .statuses(kStatuses)
      .example("[[1,2,3,4],[1,0.5],2,2,1e-6,1e-4]");
}

}  // namespace krt::normk
