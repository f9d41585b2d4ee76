#include "modules/normk/rmsnorm/rmsnorm.h"

#include <gtest/gtest.h>

#include "modules/normk/contract/rows.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::normk {
namespace {

using testing::all_within;
using testing::fixture;
using testing::FixtureCase;
using testing::GuardedBuffer;
using testing::Rng;
using testing::same_bits;
using testing::TestContext;
using testing::ValueCheck;

constexpr double kU = 0x1p-53;
constexpr double kOracle = 16 * kU;  // torch's gradients are rounded too: pairwise sums, a few units

NormOut forward(std::span<const double> x, std::span<const double> gamma, std::int64_t rows, std::int64_t cols,
                double eps, int threads = 1) {
  return rmsnorm_fwd_flat(TestContext(threads), x, gamma, rows, cols, eps);
}

// The formula in long double; it must have the same bits whatever the machine's double arithmetic does.
std::vector<double> exact_rows(std::span<const double> x, std::span<const double> gamma, double eps) {
  std::vector<double> y;
  for (std::size_t i = 0; i < x.size(); i += gamma.size()) {
    long double sum = 0;
    for (std::size_t j = 0; j < gamma.size(); ++j) sum += static_cast<long double>(x[i + j]) * x[i + j];
    const long double rms = std::sqrt(sum / static_cast<long double>(gamma.size()) + eps);
    for (std::size_t j = 0; j < gamma.size(); ++j) y.push_back(static_cast<double>(x[i + j] / rms * gamma[j]));
  }
  return y;
}

TEST(RmsNorm, IsHandComputable) {
  // mean square of {3, 4, 0, 0} and 0.25 is 6.5; of zeros only eps is left.
  const NormOut r = forward(std::vector<double>{3, 4, 0, 0, 0, 0, 0, 0}, std::vector<double>{1, 2, 3, 4}, 2, 4, 0.25);
  EXPECT_DOUBLE_EQ(r.rstd[0], 1 / std::sqrt(6.5));
  EXPECT_EQ(r.rstd[1], 2);
  EXPECT_DOUBLE_EQ(r.y[1], 8 / std::sqrt(6.5));
  EXPECT_EQ(r.y[5], 0);
  EXPECT_EQ(r.n_rows, 2);
  EXPECT_EQ(r.n_cols, 4);
  EXPECT_EQ(r.status, kOk);
}

TEST(RmsNorm, MatchesTheOracle) {
  ValueCheck check("normk.rmsnorm.rmsnorm_fwd_flat");
  for (const FixtureCase& c : fixture("normk")) {
    SCOPED_TRACE(c.name());
    const std::int64_t cols = c.integer("n_cols");
    const NormOut r = forward(c.f64s("x"), c.f64s("gamma"), c.integer("n_rows"), cols, c.number("eps"));
    const auto bound = [&](std::size_t, double want) { return norm_tol_for(want, cols); };
    EXPECT_TRUE((all_within<double, double>(r.y, c.f64s("rms_y"), bound)));
    EXPECT_TRUE((all_within<double, double>(r.rstd, c.f64s("rms_rstd"), bound)));
  }
}

TEST(RmsNorm, GradientMatchesAutograd) {
  ValueCheck check("normk.rmsnorm.rmsnorm_bwd_flat");
  for (const FixtureCase& c : fixture("normk")) {
    SCOPED_TRACE(c.name());
    const Rows rows(c.integer("n_rows"), c.integer("n_cols"));
    const auto dy = c.f64s("dy"), x = c.f64s("x"), gamma = c.f64s("gamma"), rstd = c.f64s("rms_rstd");
    const NormGrad r = rmsnorm_bwd_flat(TestContext(), dy, x, gamma, rstd, c.integer("n_rows"), c.integer("n_cols"));
    ASSERT_EQ(r.status, kOk);
    const auto cols = static_cast<double>(rows.width), count = static_cast<double>(rows.count);
    EXPECT_TRUE((all_within<double, double>(r.dx, c.f64s("rms_dx"), [&](std::size_t at, double) {
      const std::size_t i = at / rows.width, j = at % rows.width;
      double dot = 0;
      for (std::size_t k = 0; k < rows.width; ++k)
        dot += std::fabs(dy[i * rows.width + k] * gamma[k] * x[i * rows.width + k]);
      return ((cols + 10) * kU + kOracle) * rstd[i] *
             (std::fabs(dy[at] * gamma[j]) + std::fabs(x[at]) * rstd[i] * rstd[i] * dot / cols);
    })));
    EXPECT_TRUE((all_within<double, double>(r.dgamma, c.f64s("rms_dgamma"), [&](std::size_t j, double) {
      double sum = 0;
      for (std::size_t i = 0; i < rows.count; ++i)
        sum += std::fabs(dy[i * rows.width + j] * x[i * rows.width + j] * rstd[i]);
      return ((count + 3) * kU + kOracle) * sum;
    })));
  }
}

TEST(RmsNorm, SameBitsAtEveryThreadCountAndNearExact) {
  Rng rng(20261208);
  SCOPED_TRACE(rng.trace());
  const std::size_t shapes[][2] = {{1, 40000}, {33, 1000}, {40000, 1}, {17, 2048}, {9, 3}};
  for (const auto& [n_rows, n_cols] : shapes) {
    const GuardedBuffer<double> x(rng.normals<double>(n_rows * n_cols)), dy(rng.normals<double>(n_rows * n_cols)),
        gamma(rng.normals<double>(n_cols));
    const auto rows = static_cast<std::int64_t>(n_rows), cols = static_cast<std::int64_t>(n_cols);
    const NormOut one = forward(x.cspan(), gamma.cspan(), rows, cols, 1e-6);
    EXPECT_TRUE((all_within<double, double>(one.y, exact_rows(x.cspan(), gamma.cspan(), 1e-6),
                                            [&](std::size_t, double want) { return norm_tol_for(want, cols); })));
    const auto backward = [&](int threads) {
      return rmsnorm_bwd_flat(TestContext(threads), dy.cspan(), x.cspan(), gamma.cspan(), one.rstd, rows, cols);
    };
    const NormGrad grad = backward(1);
    for (const int threads : {2, 16}) {
      const NormOut out = forward(x.cspan(), gamma.cspan(), rows, cols, 1e-6, threads);
      EXPECT_TRUE(same_bits<double>(out.y, one.y));
      EXPECT_TRUE(same_bits<double>(out.rstd, one.rstd));
      const NormGrad again = backward(threads);
      EXPECT_TRUE(same_bits<double>(again.dx, grad.dx));
      EXPECT_TRUE(same_bits<double>(again.dgamma, grad.dgamma));
    }
  }
}

TEST(RmsNorm, ControlAValueOutsideTheBoundIsNoticed) {
  const std::vector<double> x{1, 2, 3, 4}, gamma{1, 1, 1, 1};
  std::vector<double> y = forward(x, gamma, 1, 4, 1e-6).y;
  y[2] *= 1 + 40 * kU;
  EXPECT_FALSE((all_within<double, double>(y, exact_rows(x, gamma, 1e-6),
                                           [](std::size_t, double want) { return norm_tol_for(want, 4); })));
}

TEST(RmsNorm, NonFiniteValuesStayInTheirRow) {
  const std::vector<double> x{1, std::nan(""), 1, HUGE_VAL, 1e200, 1, 1, 1}, gamma{1, 1};
  const NormOut r = forward(x, gamma, 4, 2, 1e-6);
  EXPECT_TRUE(std::isnan(r.y[0]) && std::isnan(r.y[1]));
  EXPECT_EQ(r.y[2], 0);
  EXPECT_TRUE(std::isnan(r.y[3]));  // inf * 0
  EXPECT_EQ(r.rstd[2], 0);          // 1e400 is no double
  EXPECT_DOUBLE_EQ(r.y[6], 1 / std::sqrt(1 + 1e-6));
}

TEST(RmsNorm, AgreesWithTheFrozenFormula) {
  ValueCheck check("normk.rmsnorm.rmsnorm_agrees_with_frozen_flat");
  for (const FixtureCase& c : fixture("normk")) {
    SCOPED_TRACE(c.name());
    const NormAgreement r = rmsnorm_agrees_with_frozen_flat(TestContext(2), c.f64s("x"), c.f64s("gamma"),
                                                            c.integer("n_rows"), c.integer("n_cols"), c.number("eps"));
    EXPECT_EQ(r.status, kOk);
    EXPECT_TRUE(r.within_tolerance) << r.max_abs_delta << " over " << r.tolerance_at_max;
    EXPECT_EQ(r.n_compared, c.integer("n_rows") * c.integer("n_cols"));
  }
}

TEST(RmsNorm, GradcheckPassesAndItsToleranceIsSmall) {
  ValueCheck check("normk.rmsnorm.rmsnorm_gradcheck_flat");
  Rng rng(20261209);
  SCOPED_TRACE(rng.trace());
  for (const std::int64_t cols : {1, 2, 5, 31}) {
    const auto x = rng.normals<double>(static_cast<std::size_t>(3 * cols)),
               gamma = rng.normals<double>(static_cast<std::size_t>(cols));
    const NormAgreement r = rmsnorm_gradcheck_flat(TestContext(), x, gamma, 3, cols, 1e-3, 1e-4);
    EXPECT_EQ(r.status, kOk);
    EXPECT_TRUE(r.within_tolerance) << r.max_abs_delta << " over " << r.tolerance_at_max;
    EXPECT_EQ(r.n_compared, 4 * cols);
    EXPECT_LT(r.tolerance_at_max, 1e-3);  // of gradients near 1
  }
}

TEST(RmsNorm, ControlAWrongGradientIsNoticed) {
  Rng rng(20261210);
  const auto x = rng.normals<double>(10), gamma = rng.normals<double>(5);
  const std::vector<double> w = loss_weights(10);
  const NormOut out = forward(x, gamma, 2, 5, 1e-3);
  NormGrad grad = rmsnorm_bwd_flat(TestContext(), w, x, gamma, out.rstd, 2, 5);
  const auto rms = [&](std::span<const double> row, std::span<const double> scale, std::span<double> y) {
    const auto one = forward(row, scale, 1, 5, 1e-3);
    std::copy(one.y.begin(), one.y.end(), y.begin());
    return 0.0;
  };
  const auto agrees = [&] {
    Agreement agreement;
    compare_slopes(Rows(2, 5), x, gamma, w, 1e-4, rms, grad.dx, grad.dgamma, agreement);
    return agreement.within;
  };
  EXPECT_TRUE(agrees());
  grad.dx[7] *= 1.001;
  EXPECT_FALSE(agrees());
  grad.dx[7] /= 1.001;
  grad.dgamma[2] += 1e-6;
  EXPECT_FALSE(agrees());
}

TEST(RmsNorm, RefusesWrongDimensions) {
  const std::vector<double> eight(8, 1.0), four(4, 1.0), two(2, 1.0);
  const struct {
    std::span<const double> dy, x, gamma, rstd;
    std::int64_t rows, cols;
    double eps;
    std::int64_t fwd, bwd;
  } table[] = {
      {eight, eight, four, two, 0, 4, 1e-6, kEmptyDimension, kEmptyDimension},
      {eight, eight, four, two, 2, INT64_MIN, 1e-6, kEmptyDimension, kEmptyDimension},
      {eight, eight, four, two, kMaxDim + 1, 4, 1e-6, kDimensionTooLarge, kDimensionTooLarge},
      {eight, eight, four, two, INT64_MAX, INT64_MAX, 1e-6, kDimensionTooLarge, kDimensionTooLarge},
      {eight, four, four, two, 2, 4, 0, kBadScalar, kXLengthMismatch},
      {eight, four, four, two, 2, 4, 1e-6, kXLengthMismatch, kXLengthMismatch},
      {eight, eight, two, two, 2, 4, 1e-6, kGammaLengthMismatch, kGammaLengthMismatch},
      {four, eight, four, two, 2, 4, 1e-6, kOk, kDyLengthMismatch},
      {eight, eight, four, four, 2, 4, 1e-6, kOk, kStatsLengthMismatch},
  };
  for (const auto& row : table) {
    const NormOut out = forward(row.x, row.gamma, row.rows, row.cols, row.eps);
    EXPECT_EQ(out.status, row.fwd);
    EXPECT_EQ(out.y.empty(), row.fwd != kOk);
    const NormGrad grad = rmsnorm_bwd_flat(TestContext(), row.dy, row.x, row.gamma, row.rstd, row.rows, row.cols);
    EXPECT_EQ(grad.status, row.bwd);
    EXPECT_TRUE(grad.dx.empty() && grad.dgamma.empty());
    for (const double step : {1e-4, 0.0}) {
      const NormAgreement check =
          rmsnorm_gradcheck_flat(TestContext(), row.x, row.gamma, row.rows, row.cols, row.eps, step);
      const bool dims_are_wrong = row.fwd == kEmptyDimension || row.fwd == kDimensionTooLarge;
      EXPECT_EQ(check.status, step == 0 && !dims_are_wrong ? kBadScalar : row.fwd);
    }
  }
}

}  // namespace
}  // namespace krt::normk
