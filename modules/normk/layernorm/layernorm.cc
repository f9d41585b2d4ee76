#include "modules/normk/layernorm/layernorm.h"

#include <cmath>

#include "modules/fused_kernels/scalar/scalar.h"
#include "modules/normk/contract/rows.h"
#include "runtime/registry/module_builder.h"

namespace krt::normk {
namespace {

struct Moments {
  double mean, variance;
};

Moments two_pass(std::span<const double> x) {
  const auto n = static_cast<double>(x.size());
  double sum = 0;
  for (const double v : x) sum += v;
  const double mean = sum / n;
  double squares = 0;
  for (const double v : x) squares += (v - mean) * (v - mean);
  return {mean, squares / n};
}

Moments welford(std::span<const double> x) {
  double mean = 0, squares = 0, n = 0;
  for (const double v : x) {
    const double delta = v - mean;
    mean += delta / ++n;
    squares += delta * (v - mean);
  }
  return {mean, squares / n};
}

double mean_magnitude(std::span<const double> x) {
  double sum = 0;
  for (const double v : x) sum += std::fabs(v);
  return sum / static_cast<double>(x.size());
}

struct RowStats {
  double mean, rstd;
};

RowStats row_stats(std::span<const double> x, double eps) {
  const Moments m = two_pass(x);
  return {m.mean, 1 / std::sqrt(m.variance + eps)};
}

// `beta` null: zeros.
void normalise_row(std::span<const double> x, RowStats s, std::span<const double> gamma, const double* beta,
                   std::span<double> y) {
  for (std::size_t j = 0; j < x.size(); ++j)
    y[j] = fused_kernels::fused_layernorm_element(x[j], s.mean, s.rstd, gamma[j], beta == nullptr ? 0.0 : beta[j]);
}

void gradient_row(std::span<const double> dy, std::span<const double> x, std::span<const double> gamma, RowStats s,
                  std::span<double> dx) {
  const auto n = static_cast<double>(x.size());
  double sum = 0, dot = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double g = dy[j] * gamma[j];
    sum += g;
    dot += g * ((x[j] - s.mean) * s.rstd);
  }
  const double mean_g = sum / n, along = dot / n;
  for (std::size_t j = 0; j < x.size(); ++j)
    dx[j] = s.rstd * (dy[j] * gamma[j] - mean_g - (x[j] - s.mean) * s.rstd * along);
}

}  // namespace

LayerNormOut layernorm_fwd_flat(Context& context, std::span<const double> x, std::span<const double> gamma,
                                std::span<const double> beta, std::int64_t n_rows, std::int64_t n_cols, double eps) {
  std::int64_t status = norm_dims_check(n_rows, n_cols, eps);
  if (status == kOk)
    status = check_lengths(kOk, {{x.size(), n_rows * n_cols, kXLengthMismatch},
                                 {gamma.size(), n_cols, kGammaLengthMismatch},
                                 {beta.size(), n_cols, kBetaLengthMismatch}});
  if (status != kOk) return {{}, {}, {}, 0, 0, status};
  const Rows rows(n_rows, n_cols);
  std::vector<double> y(x.size()), mean(rows.count), rstd(rows.count);
  rows.for_each(context, [&](std::size_t i) {
    const RowStats s = row_stats(rows.of(x, i), eps);
    normalise_row(rows.of(x, i), s, gamma, beta.data(), rows.of(y, i));
    mean[i] = s.mean;
    rstd[i] = s.rstd;
  });
  return {std::move(y), std::move(mean), std::move(rstd), n_rows, n_cols, kOk};
}

LayerNormGrad layernorm_bwd_flat(Context& context, std::span<const double> dy, std::span<const double> x,
                                 std::span<const double> gamma, std::span<const double> mean,
                                 std::span<const double> rstd, std::int64_t n_rows, std::int64_t n_cols) {
  std::int64_t status = norm_dims_check(n_rows, n_cols, 1);
  if (status == kOk)
    status = check_lengths(kOk, {{dy.size(), n_rows * n_cols, kDyLengthMismatch},
                                 {x.size(), n_rows * n_cols, kXLengthMismatch},
                                 {gamma.size(), n_cols, kGammaLengthMismatch},
                                 {mean.size(), n_rows, kStatsLengthMismatch},
                                 {rstd.size(), n_rows, kStatsLengthMismatch}});
  if (status != kOk) return {{}, {}, {}, 0, 0, status};
  const Rows rows(n_rows, n_cols);
  std::vector<double> dx(x.size());
  rows.for_each(context, [&](std::size_t i) {
    gradient_row(rows.of(dy, i), rows.of(x, i), gamma, {mean[i], rstd[i]}, rows.of(dx, i));
  });
  std::vector<double> dgamma = rows.sum_columns(context, [&](std::size_t i, std::size_t j) {
    return dy[i * rows.width + j] * ((x[i * rows.width + j] - mean[i]) * rstd[i]);
  });
  std::vector<double> dbeta =
      rows.sum_columns(context, [&](std::size_t i, std::size_t j) { return dy[i * rows.width + j]; });
  return {std::move(dx), std::move(dgamma), std::move(dbeta), n_rows, n_cols, kOk};
}

LayerNormAgreement layernorm_gradcheck_flat(Context& context, std::span<const double> x, std::span<const double> gamma,
                                            std::span<const double> beta, std::int64_t n_rows, std::int64_t n_cols,
                                            double eps, double step) {
  std::int64_t status = gradcheck_dims_check(n_rows, n_cols, eps, step);
  if (status == kOk)
    status = check_lengths(kOk, {{x.size(), n_rows * n_cols, kXLengthMismatch},
                                 {gamma.size(), n_cols, kGammaLengthMismatch},
                                 {beta.size(), n_cols, kBetaLengthMismatch}});
  if (status != kOk) return {0, 0, false, 0, status};
  const Rows rows(n_rows, n_cols);
  const std::vector<double> dy = loss_weights(x.size());
  const LayerNormOut out = layernorm_fwd_flat(context, x, gamma, beta, n_rows, n_cols, eps);
  const LayerNormGrad grad = layernorm_bwd_flat(context, dy, x, gamma, out.mean, out.rstd, n_rows, n_cols);
  // beta only adds a constant to the loss: left out, so that it does not drown what depends on x.
  const auto forward = [&](std::span<const double> row, std::span<const double> scale, std::span<double> y) {
    const RowStats s = row_stats(row, eps);
    normalise_row(row, s, scale, nullptr, y);
    return mean_magnitude(row) * s.rstd;
  };
  Agreement agreement;
  compare_slopes(rows, x, gamma, dy, step, forward, grad.dx, grad.dgamma, agreement);
  for (std::size_t j = 0; j < rows.width; ++j) {  // the loss is linear in beta: its slope is the sum of the weights
    long double slope = 0, magnitude = 0;
    for (std::size_t i = 0; i < rows.count; ++i) {
      slope += dy[i * rows.width + j];
      magnitude += std::fabs(dy[i * rows.width + j]);
    }
    agreement.add(grad.dbeta[j], static_cast<double>(slope),
                  static_cast<double>(magnitude) * static_cast<double>(n_rows + 1) * 0x1p-53);
  }
  return agreement.result<LayerNormAgreement>(kOk);
}

LayerNormAgreement layernorm_variance_agrees_flat(std::span<const double> x, std::int64_t n_rows, std::int64_t n_cols) {
  std::int64_t status = norm_dims_check(n_rows, n_cols, 1);
  if (status == kOk) status = check_lengths(kOk, {{x.size(), n_rows * n_cols, kXLengthMismatch}});
  if (status != kOk) return {0, 0, false, 0, status};
  const Rows rows(n_rows, n_cols);
  const double roundings = static_cast<double>(n_cols + 8) * 0x1p-53;
  Agreement agreement;
  for (std::size_t i = 0; i < rows.count; ++i) {
    const Moments m = two_pass(rows.of(x, i));
    const double of_mean = roundings * mean_magnitude(rows.of(x, i));
    const double tolerance =
        2 * roundings * std::sqrt(m.variance) * std::hypot(std::sqrt(m.variance), m.mean) + 2 * of_mean * of_mean;
    agreement.add(m.variance, welford(rows.of(x, i)).variance, tolerance);
  }
  return agreement.result<LayerNormAgreement>(kOk);
}

void register_layernorm(Registry& registry) {
  ModuleBuilder m(registry, "normk.layernorm", "Layer norm in f64, its gradient and their checks");
  m.function<layernorm_bwd_flat>("layernorm_bwd_flat", "The gradient of the norm",
                                 {{"dy", "gradient of the output, exactly n_rows * n_cols values"},
                                  {"x", "the rows, exactly n_rows * n_cols values"},
                                  {"gamma", "scale of each column, exactly n_cols values"},
                                  {"mean", "as layernorm_fwd_flat returned it, exactly n_rows values"},
                                  {"rstd", "as layernorm_fwd_flat returned it, exactly n_rows values"},
                                  {"n_rows", "how many rows, 1 to 2^24"},
                                  {"n_cols", "values in a row, 1 to 2^24"}})
      .statuses(kStatuses)
      .example("[[1,0,0,1],[1,2,3,5],[1,0.5],[1.5,4],[2,1],2,2]");
  m.function<layernorm_fwd_flat>("layernorm_fwd_flat", "Layer norm of every row",
                                 {{"x", "the rows, exactly n_rows * n_cols values"},
                                  {"gamma", "scale of each column, exactly n_cols values"},
                                  {"beta", "shift of each column, exactly n_cols values"},
                                  {"n_rows", "how many rows, 1 to 2^24"},
                                  {"n_cols", "values in a row, 1 to 2^24"},
                                  {"eps", "what is added under the root, above 0"}})
      .statuses(kStatuses)
      .example("[[1,2,3,5],[1,0.5],[0,1],2,2,1e-6]");
  m.function<layernorm_gradcheck_flat>("layernorm_gradcheck_flat", "The gradient against central differences of a loss",
                                       {{"x", "the rows, exactly n_rows * n_cols values"},
                                        {"gamma", "scale of each column, exactly n_cols values"},
                                        {"beta", "shift of each column, exactly n_cols values"},
                                        {"n_rows", "how many rows; n_rows * n_cols^2 at most 2^28"},
                                        {"n_cols", "values in a row"},
                                        {"eps", "what is added under the root, above 0"},
                                        {"step", "of the differences, above 0, such as 1e-4"}})
      .statuses(kStatuses)
      .example("[[1,2,4,3,5,9],[1,0.5,2],[0,1,0],2,3,1e-6,1e-4]");
  m.function<layernorm_variance_agrees_flat>("layernorm_variance_agrees_flat",
                                             "The variance in two passes against Welford's single pass",
                                             {{"x", "the rows, exactly n_rows * n_cols values"},
                                              {"n_rows", "how many rows, 1 to 2^24"},
                                              {"n_cols", "values in a row, 1 to 2^24"}})
      .statuses(kStatuses)
      .example("[[1,2,3,5],2,2]");
}

}  // namespace krt::normk
