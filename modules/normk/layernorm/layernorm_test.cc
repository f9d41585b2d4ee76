#include "modules/normk/layernorm/layernorm.h"

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

struct Problem {
  std::vector<double> dy, x, gamma, beta;
  std::int64_t n_rows, n_cols;
  double eps;

  explicit Problem(const FixtureCase& c)
      : dy(c.f64s("dy")),
        x(c.f64s("x")),
        gamma(c.f64s("gamma")),
        beta(c.f64s("beta")),
        n_rows(c.integer("n_rows")),
        n_cols(c.integer("n_cols")),
        eps(c.number("eps")) {}
  Problem(std::size_t rows, std::size_t cols, Rng& rng)
      : dy(rng.normals<double>(rows * cols)),
        x(rng.normals<double>(rows * cols)),
        gamma(rng.normals<double>(cols)),
        beta(rng.normals<double>(cols)),
        n_rows(static_cast<std::int64_t>(rows)),
        n_cols(static_cast<std::int64_t>(cols)),
        eps(1e-6) {}

  [[nodiscard]] LayerNormOut forward(int threads = 1) const {
    const GuardedBuffer<double> guarded(x);
    return layernorm_fwd_flat(TestContext(threads), guarded.cspan(), gamma, beta, n_rows, n_cols, eps);
  }
  [[nodiscard]] LayerNormGrad backward(std::span<const double> mean, std::span<const double> rstd,
                                       int threads = 1) const {
    const GuardedBuffer<double> guarded(dy);
    return layernorm_bwd_flat(TestContext(threads), guarded.cspan(), x, gamma, mean, rstd, n_rows, n_cols);
  }
};

// The contract's bound of y.
auto y_bound(const Problem& p, std::vector<double> mean, std::vector<double> rstd) {
  return [&p, mean = std::move(mean), rstd = std::move(rstd)](std::size_t at, double) {
    const Rows rows(p.n_rows, p.n_cols);
    const std::size_t i = at / rows.width, j = at % rows.width;
    const auto cols = static_cast<double>(p.n_cols);
    double magnitude = 0;
    for (const double v : rows.of(p.x, i)) magnitude += std::fabs(v) / cols;
    const double e = (cols + 2) * kU * rstd[i] * magnitude, h = std::fabs((p.x[at] - mean[i]) * rstd[i]);
    return std::fabs(p.gamma[j]) * (e + h * ((cols / 2 + 6) * kU + e * e)) +
           2 * kU * (std::fabs(p.gamma[j]) * h + std::fabs(p.beta[j]));
  };
}

TEST(LayerNorm, IsHandComputable) {
  // {1, 3}: mean 2, variance 1; {5, 5}: variance 0, only eps is left.
  const std::vector<double> x{1, 3, 5, 5}, gamma{2, 4}, beta{10, 20};
  const LayerNormOut r = layernorm_fwd_flat(TestContext(), x, gamma, beta, 2, 2, 3.0);
  EXPECT_EQ(r.y, (std::vector<double>{9, 22, 10, 20}));
  EXPECT_EQ(r.mean, (std::vector<double>{2, 5}));
  EXPECT_EQ(r.rstd, (std::vector<double>{0.5, 1 / std::sqrt(3.0)}));
  EXPECT_EQ(r.n_rows, 2);
  EXPECT_EQ(r.status, kOk);
}

TEST(LayerNorm, MatchesTheOracle) {
  ValueCheck check("normk.layernorm.layernorm_fwd_flat");
  for (const FixtureCase& c : fixture("normk")) {
    SCOPED_TRACE(c.name());
    const Problem p(c);
    const LayerNormOut r = p.forward();
    EXPECT_TRUE((all_within<double, double>(r.y, c.f64s("layer_y"), y_bound(p, r.mean, r.rstd))));
    EXPECT_TRUE((all_within<double, double>(r.mean, c.f64s("layer_mean"), [&](std::size_t i, double) {
      double sum = 0;
      for (const double v : Rows(p.n_rows, p.n_cols).of(p.x, i)) sum += std::fabs(v);
      return kU * (static_cast<double>(p.n_cols) + 2) * sum / static_cast<double>(p.n_cols);
    })));
  }
}

TEST(LayerNorm, GradientMatchesAutograd) {
  ValueCheck check("normk.layernorm.layernorm_bwd_flat");
  for (const FixtureCase& c : fixture("normk")) {
    SCOPED_TRACE(c.name());
    const Problem p(c);
    const Rows rows(p.n_rows, p.n_cols);
    const auto cols = static_cast<double>(p.n_cols), count = static_cast<double>(p.n_rows);
    const auto mean = c.f64s("layer_mean"), rstd = c.f64s("layer_rstd");
    const LayerNormGrad r = p.backward(mean, rstd);
    ASSERT_EQ(r.status, kOk);
    const auto h = [&](std::size_t at) { return std::fabs((p.x[at] - mean[at / rows.width]) * rstd[at / rows.width]); };
    const auto g = [&](std::size_t at) { return std::fabs(p.dy[at] * p.gamma[at % rows.width]); };
    // The oracle's mean is as exact as x - mean lets it be.
    const auto oracle = [&](std::size_t i) { return kOracle * (1 + std::fabs(mean[i]) * rstd[i]); };
    EXPECT_TRUE((all_within<double, double>(r.dx, c.f64s("layer_dx"), [&](std::size_t at, double) {
      const std::size_t i = at / rows.width;
      double sum_g = 0, sum_gh = 0;
      for (std::size_t k = i * rows.width; k < (i + 1) * rows.width; ++k) {
        sum_g += g(k);
        sum_gh += g(k) * h(k);
      }
      return ((cols + 10) * kU + oracle(i)) * rstd[i] * (g(at) + sum_g / cols + h(at) * sum_gh / cols);
    })));
    EXPECT_TRUE((all_within<double, double>(r.dgamma, c.f64s("layer_dgamma"), [&](std::size_t j, double) {
      double bound = 0;
      for (std::size_t i = 0; i < rows.count; ++i) {
        const std::size_t at = i * rows.width + j;
        bound += std::fabs(p.dy[at]) * ((count + 4) * kU * h(at) + oracle(i) * std::max(h(at), 1.0));
      }
      return bound;
    })));
    EXPECT_TRUE((all_within<double, double>(r.dbeta, c.f64s("layer_dbeta"), [&](std::size_t j, double) {
      double sum = 0;
      for (std::size_t i = 0; i < rows.count; ++i) sum += std::fabs(p.dy[i * rows.width + j]);
      return (count * kU + kOracle) * sum;
    })));
  }
}

TEST(LayerNorm, SameBitsAtEveryThreadCount) {
  Rng rng(20261211);
  SCOPED_TRACE(rng.trace());
  const std::size_t shapes[][2] = {{1, 40000}, {33, 1000}, {40000, 1}, {17, 2048}, {9, 3}};
  for (const auto& [n_rows, n_cols] : shapes) {
    const Problem p(n_rows, n_cols, rng);
    const LayerNormOut one = p.forward();
    const LayerNormGrad grad = p.backward(one.mean, one.rstd);
    for (const int threads : {2, 16}) {
      const LayerNormOut out = p.forward(threads);
      EXPECT_TRUE(same_bits<double>(out.y, one.y));
      EXPECT_TRUE(same_bits<double>(out.mean, one.mean));
      EXPECT_TRUE(same_bits<double>(out.rstd, one.rstd));
      const LayerNormGrad again = p.backward(one.mean, one.rstd, threads);
      EXPECT_TRUE(same_bits<double>(again.dx, grad.dx));
      EXPECT_TRUE(same_bits<double>(again.dgamma, grad.dgamma));
      EXPECT_TRUE(same_bits<double>(again.dbeta, grad.dbeta));
    }
  }
}

TEST(LayerNorm, ControlAValueOutsideTheBoundIsNoticed) {
  const FixtureCase c = fixture("normk").at(2);
  const Problem p(c);
  LayerNormOut r = p.forward();
  r.y[3] += 1e-14;
  EXPECT_FALSE((all_within<double, double>(r.y, c.f64s("layer_y"), y_bound(p, r.mean, r.rstd))));
}

TEST(LayerNorm, NonFiniteValuesStayInTheirRow) {
  const std::vector<double> x{1, std::nan(""), 1, HUGE_VAL, 1, 3}, gamma{1, 1}, beta{0, 0};
  const LayerNormOut r = layernorm_fwd_flat(TestContext(), x, gamma, beta, 3, 2, 1e-6);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(r.y[i])) << i;
  EXPECT_NEAR(r.y[4], -1, 1e-6);
}

TEST(LayerNorm, GradcheckPassesAndItsToleranceIsSmall) {
  ValueCheck check("normk.layernorm.layernorm_gradcheck_flat");
  Rng rng(20261212);
  SCOPED_TRACE(rng.trace());
  for (const std::size_t cols : {1, 2, 5, 31}) {
    const Problem p(3, cols, rng);
    const LayerNormAgreement r =
        layernorm_gradcheck_flat(TestContext(), p.x, p.gamma, p.beta, p.n_rows, p.n_cols, 1e-3, 1e-4);
    EXPECT_EQ(r.status, kOk);
    EXPECT_TRUE(r.within_tolerance) << r.max_abs_delta << " over " << r.tolerance_at_max;
    EXPECT_EQ(r.n_compared, 5 * p.n_cols);
    EXPECT_LT(r.tolerance_at_max, 1e-3);
  }
}

TEST(LayerNorm, ControlAWrongGradientIsNoticed) {
  Rng rng(20261213);
  Problem p(2, 5, rng);
  p.dy = loss_weights(10);
  const LayerNormOut out = p.forward();
  LayerNormGrad grad = p.backward(out.mean, out.rstd);
  const auto norm = [&](std::span<const double> row, std::span<const double> scale, std::span<double> y) {
    const std::vector<double> zeros(5);
    const auto r = layernorm_fwd_flat(TestContext(), row, scale, zeros, 1, 5, p.eps);
    std::copy(r.y.begin(), r.y.end(), y.begin());
    return 1.0;
  };
  const auto agrees = [&] {
    Agreement agreement;
    compare_slopes(Rows(2, 5), p.x, p.gamma, p.dy, 1e-4, norm, grad.dx, grad.dgamma, agreement);
    return agreement.within;
  };
  EXPECT_TRUE(agrees());
  grad.dx[7] += 1e-3;
  EXPECT_FALSE(agrees());
}

TEST(LayerNorm, VarianceAgreesWithWelford) {
  ValueCheck check("normk.layernorm.layernorm_variance_agrees_flat");
  for (const FixtureCase& c : fixture("normk")) {
    SCOPED_TRACE(c.name());
    const LayerNormAgreement r = layernorm_variance_agrees_flat(c.f64s("x"), c.integer("n_rows"), c.integer("n_cols"));
    EXPECT_EQ(r.status, kOk);
    EXPECT_TRUE(r.within_tolerance) << r.max_abs_delta << " over " << r.tolerance_at_max;
    EXPECT_EQ(r.n_compared, c.integer("n_rows"));
  }
  // A row whose mean is no double: two passes leave the square of its rounding, Welford leaves nothing.
  const LayerNormAgreement tenths = layernorm_variance_agrees_flat(std::vector<double>(1000, 0.1), 1, 1000);
  EXPECT_TRUE(tenths.within_tolerance);
  EXPECT_GT(tenths.max_abs_delta, 0);
  EXPECT_LT(tenths.tolerance_at_max, 1e-25);
}

TEST(LayerNorm, RefusesWrongDimensions) {
  const std::vector<double> eight(8, 1.0), four(4, 1.0), two(2, 1.0);
  const struct {
    std::span<const double> dy, x, gamma, beta, mean, rstd;
    std::int64_t rows, cols;
    double eps;
    std::int64_t fwd, bwd;
  } table[] = {
      {eight, eight, four, four, two, two, 0, 4, 1e-6, kEmptyDimension, kEmptyDimension},
      {eight, eight, four, four, two, two, INT64_MAX, 4, 1e-6, kDimensionTooLarge, kDimensionTooLarge},
      {eight, eight, four, four, two, two, 2, 4, -1, kBadScalar, kOk},
      {eight, four, four, four, two, two, 2, 4, 1e-6, kXLengthMismatch, kXLengthMismatch},
      {eight, eight, two, four, two, two, 2, 4, 1e-6, kGammaLengthMismatch, kGammaLengthMismatch},
      {eight, eight, four, two, two, two, 2, 4, 1e-6, kBetaLengthMismatch, kOk},
      {four, eight, four, four, two, two, 2, 4, 1e-6, kOk, kDyLengthMismatch},
      {eight, eight, four, four, four, two, 2, 4, 1e-6, kOk, kStatsLengthMismatch},
      {eight, eight, four, four, two, four, 2, 4, 1e-6, kOk, kStatsLengthMismatch},
  };
  for (const auto& t : table) {
    TestContext c;
    const LayerNormOut out = layernorm_fwd_flat(c, t.x, t.gamma, t.beta, t.rows, t.cols, t.eps);
    EXPECT_EQ(out.status, t.fwd);
    EXPECT_EQ(out.y.empty(), t.fwd != kOk);
    const LayerNormGrad grad = layernorm_bwd_flat(c, t.dy, t.x, t.gamma, t.mean, t.rstd, t.rows, t.cols);
    EXPECT_EQ(grad.status, t.bwd);
    EXPECT_EQ(grad.dx.empty(), t.bwd != kOk);
    EXPECT_EQ(layernorm_gradcheck_flat(c, t.x, t.gamma, t.beta, t.rows, t.cols, t.eps, 1e-4).status, t.fwd);
  }
  EXPECT_EQ(layernorm_variance_agrees_flat(four, 2, 4).status, kXLengthMismatch);
  EXPECT_EQ(layernorm_variance_agrees_flat(four, -2, 4).status, kEmptyDimension);
}

}  // namespace
}  // namespace krt::normk
