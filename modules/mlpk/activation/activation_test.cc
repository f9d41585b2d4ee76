#include "modules/mlpk/activation/activation.h"

#include <gtest/gtest.h>

#include <map>

#include "modules/mlpk/activation/functions.h"
#include "modules/mlpk/contract/contract.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::mlpk {
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

std::vector<FixtureCase> cases(std::string_view kind) {
  std::vector<FixtureCase> out;
  for (FixtureCase& c : fixture("mlpk"))
    if (c.text("kind") == kind) out.push_back(std::move(c));
  return out;
}

// One form: what computes it and how far its contract lets it be off, from x and the exact value.
struct Form {
  const char* oracle;
  double (*act)(double);
  double (*bound)(double x, double want);
};
constexpr double kLeast = 0x1p-1064;  // of a value with a subnormal factor
const Form kForms[] = {
    {"silu", silu, [](double, double want) { return 6 * kU * std::fabs(want) + kLeast; }},
    {"gelu_erf", gelu_erf,
     [](double x, double want) { return (2 * std::fmin(x * x, 1e300) + 8) * kU * std::fabs(want) + kLeast; }},
    {"gelu_tanh", gelu_tanh, [](double x, double) { return 4 * kU * std::fabs(x); }},
    {"gelu_tanh", gelu_tanh_fast,
     [](double x, double want) {
       return (8 * std::fmin(std::fabs(gelu_tanh_argument(x)), 1e300) + 8) * kU * std::fabs(want) + kLeast;
     }},
};

template <class Fn>
std::vector<double> mapped(std::span<const double> x, const Fn& fn) {
  std::vector<double> out;
  for (const double v : x) out.push_back(fn(v));
  return out;
}

TEST(ActivationFunctions, AreWithinTheirBounds) {
  ValueCheck check("mlpk.activation.mlp_gelu_erf");
  std::map<std::string, FixtureCase> oracle;
  for (const FixtureCase& c : cases("function")) oracle.emplace(c.text("name"), c);
  for (const Form& form : kForms) {
    const FixtureCase& c = oracle.at(form.oracle);
    SCOPED_TRACE(c.name());
    const std::vector<double> x = c.f64s("x");
    EXPECT_TRUE((all_within<double, double>(mapped(x, form.act), c.f64s("y"),
                                            [&](std::size_t i, double want) { return form.bound(x[i], want); })));
  }
  EXPECT_EQ(mlp_gelu_erf(1), gelu_erf(1));
}

TEST(ActivationFunctions, DerivativesAreWithinTheirBounds) {
  ValueCheck erf("mlpk.activation.mlp_gelu_erf_grad"), tanh("mlpk.activation.mlp_gelu_tanh_grad");
  const std::map<std::string, double (*)(double)> derivatives{
      {"silu", silu_grad}, {"gelu_erf", mlp_gelu_erf_grad}, {"gelu_tanh", mlp_gelu_tanh_grad}};
  for (const FixtureCase& c : cases("function")) {
    SCOPED_TRACE(c.name());
    const std::vector<double> x = c.f64s("x");
    EXPECT_TRUE((all_within<double, double>(mapped(x, derivatives.at(c.text("name"))), c.f64s("grad"),
                                            [&](std::size_t i, double) { return 16 * kU * (1 + x[i] * x[i]); })));
  }
}

TEST(ActivationFunctions, InfinitiesFollowTheContract) {
  const double inf = HUGE_VAL;
  for (const Form& form : kForms) {
    EXPECT_EQ(form.act(inf), inf) << form.oracle;
    EXPECT_TRUE(std::isnan(form.act(-inf))) << form.oracle;
    EXPECT_TRUE(std::isnan(form.act(std::nan("")))) << form.oracle;
    for (const double x : {1e308, -1e308, 1e103, -1e103}) EXPECT_TRUE(std::isfinite(form.act(x))) << form.oracle << x;
  }
  for (const auto grad : {silu_grad, gelu_erf_grad, gelu_tanh_grad}) {
    EXPECT_TRUE(std::isnan(grad(std::nan(""))));
    for (const double x : {inf, 1e308, 1e103}) {
      EXPECT_EQ(grad(x), 1);
      EXPECT_EQ(grad(-x), 0);
    }
  }
}

TEST(GatedActivation, MatchesTorchForwardAndBackward) {
  ValueCheck forward("mlpk.activation.gated_ffn_fwd_flat"), backward("mlpk.activation.gated_ffn_bwd_flat");
  for (const FixtureCase& c : cases("gated")) {
    SCOPED_TRACE(c.name());
    const GuardedBuffer<double> value(c.f64s("value")), gate(c.f64s("gate")), dy(c.f64s("dy"));
    const std::int64_t n_tok = c.integer("n_tok"), d_ff = c.integer("d_ff"), kind = c.integer("activation");
    const ActOut out = gated_ffn_fwd_flat(TestContext(), value.cspan(), gate.cspan(), n_tok, d_ff, kind);
    EXPECT_EQ(out.activation, kind);
    EXPECT_EQ(out.status, kOk);
    // Ours and torch's: 24 u of what the activation is a share of.
    const auto near = [&](std::span<const double> factor) {
      return [&gate, factor](std::size_t i, double) {
        const double g = gate.cspan()[i];
        return 24 * kU * std::fabs(factor[i]) * (1 + std::fabs(g) + g * g);
      };
    };
    EXPECT_TRUE((all_within<double, double>(out.y, c.f64s("y"), near(value.cspan()))));
    const ActGrad grad = gated_ffn_bwd_flat(TestContext(), dy.cspan(), value.cspan(), gate.cspan(), n_tok, d_ff, kind);
    EXPECT_TRUE((all_within<double, double>(grad.d_value, c.f64s("d_value"), near(dy.cspan()))));
    std::vector<double> both = value.copy();
    for (std::size_t i = 0; i < both.size(); ++i) both[i] *= dy.cspan()[i];
    EXPECT_TRUE((all_within<double, double>(grad.d_gate, c.f64s("d_gate"), near(both))));
  }
}

TEST(GatedActivation, ControlAnotherKindIsNoticed) {
  const FixtureCase c = cases("gated").at(2);  // SwiGLU
  const ActOut out = gated_ffn_fwd_flat(TestContext(), c.f64s("value"), c.f64s("gate"), 2, 40, kGegluErf);
  EXPECT_FALSE((all_within<double, double>(out.y, c.f64s("y"), [](std::size_t, double) { return 1e-3; })));
}

TEST(GatedActivation, SameBitsAtEveryThreadCount) {
  Rng rng(20261219);
  SCOPED_TRACE(rng.trace());
  const std::int64_t n = 100001;
  const auto value = rng.normals<double>(n), gate = rng.normals<double>(n, 3), dy = rng.normals<double>(n);
  for (const std::int64_t kind : {0, 1, 2}) {
    const ActOut one = gated_ffn_fwd_flat(TestContext(), value, gate, 1, n, kind);
    const ActGrad grad = gated_ffn_bwd_flat(TestContext(), dy, value, gate, 1, n, kind);
    for (const int threads : {2, 16}) {
      EXPECT_TRUE(same_bits<double>(gated_ffn_fwd_flat(TestContext(threads), value, gate, 1, n, kind).y, one.y));
      const ActGrad again = gated_ffn_bwd_flat(TestContext(threads), dy, value, gate, 1, n, kind);
      EXPECT_TRUE(same_bits<double>(again.d_value, grad.d_value));
      EXPECT_TRUE(same_bits<double>(again.d_gate, grad.d_gate));
    }
  }
}

TEST(GeluAgreement, FindsTheKnownDistanceOfTheTwoForms) {
  ValueCheck check("mlpk.activation.mlp_gelu_agreement");
  const GeluAgreement r = mlp_gelu_agreement(-6, 6, 120001);
  EXPECT_NEAR(r.max_abs_delta, 4.7323552e-4, 1e-10);  // mpmath: at 2.69894138637727
  EXPECT_NEAR(std::fabs(r.argmax_input), 2.69894, 1e-4);
  EXPECT_TRUE(r.within_tolerance);
  EXPECT_EQ(r.tolerance_at_max, 4.74e-4);
  EXPECT_EQ(r.n_compared, 120001);
  EXPECT_EQ(mlp_gelu_agreement(10, 20, 2).max_abs_delta, 0);
}

TEST(GeluAgreement, RefusesIntervalsThatAreNone) {
  const double nan = std::nan("");
  const struct {
    double lo, hi;
    std::int64_t samples, status;
  } rows[] = {{-6, 6, 0, kEmptyDimension},       {-6, 6, kMaxDim + 1, kDimensionTooLarge},
              {-6, 6, 1, kBadParameter},         {6, -6, 10, kBadParameter},
              {6, 6, 10, kBadParameter},         {nan, 6, 10, kBadParameter},
              {-6, nan, 10, kBadParameter},      {-HUGE_VAL, 6, 10, kBadParameter},
              {-1e308, 1e308, 10, kBadParameter}};
  for (const auto& row : rows) {
    const GeluAgreement r = mlp_gelu_agreement(row.lo, row.hi, row.samples);
    EXPECT_EQ(r.status, row.status) << row.lo << ' ' << row.hi;
    EXPECT_FALSE(r.within_tolerance);
    EXPECT_EQ(r.n_compared, 0);
  }
}

TEST(SwigluGradcheck, PassesAndItsToleranceIsSmall) {
  ValueCheck check("mlpk.activation.swiglu_gradcheck_flat");
  Rng rng(20261220);
  SCOPED_TRACE(rng.trace());
  const auto value = rng.normals<double>(60), gate = rng.normals<double>(60, 3);
  for (const std::int64_t kind : {0, 1, 2}) {
    for (const double step : {1e-2, 1e-4, 1e-6}) {
      const GeluAgreement r = swiglu_gradcheck_flat(TestContext(), value, gate, 5, 12, kind, step);
      EXPECT_EQ(r.status, kOk);
      EXPECT_TRUE(r.within_tolerance) << kind << ": " << r.max_abs_delta << " over " << r.tolerance_at_max;
      EXPECT_EQ(r.n_compared, 120);
      EXPECT_LT(r.tolerance_at_max, 1e-3);
      EXPECT_NE(std::find(gate.begin(), gate.end(), r.argmax_input), gate.end());
    }
  }
}

TEST(GatedActivation, RefusesWrongDimensions) {
  const std::vector<double> six(6, 1.0), four(4, 1.0);
  const struct {
    std::span<const double> dy, value, gate;
    std::int64_t n_tok, d_ff, kind, fwd, bwd;
  } rows[] = {
      {six, six, six, 0, 3, 0, kEmptyDimension, kEmptyDimension},
      {six, six, six, 2, INT64_MIN, 9, kEmptyDimension, kEmptyDimension},
      {six, six, six, INT64_MAX, 3, 0, kDimensionTooLarge, kDimensionTooLarge},
      {six, six, six, kMaxDim, kMaxDim, 0, kDimensionTooLarge, kDimensionTooLarge},
      {six, four, six, 2, 3, 9, kALengthMismatch, kALengthMismatch},
      {six, six, four, 2, 3, 9, kBLengthMismatch, kBLengthMismatch},
      {four, six, six, 2, 3, 0, kOk, kGradLengthMismatch},
      {six, six, six, 2, 3, 3, kBadParameter, kBadParameter},
      {six, six, six, 2, 3, -1, kBadParameter, kBadParameter},
  };
  for (const auto& row : rows) {
    const ActOut out = gated_ffn_fwd_flat(TestContext(), row.value, row.gate, row.n_tok, row.d_ff, row.kind);
    EXPECT_EQ(out.status, row.fwd);
    EXPECT_EQ(out.y.empty(), row.fwd != kOk);
    const ActGrad grad = gated_ffn_bwd_flat(TestContext(), row.dy, row.value, row.gate, row.n_tok, row.d_ff, row.kind);
    EXPECT_EQ(grad.status, row.bwd);
    EXPECT_TRUE(grad.d_value.empty() && grad.d_gate.empty());
    for (const double step : {1e-4, 0.0, std::nan("")}) {
      const std::int64_t want = row.fwd == kOk && !(step > 0) ? std::int64_t{kBadParameter} : row.fwd;
      EXPECT_EQ(swiglu_gradcheck_flat(TestContext(), row.value, row.gate, row.n_tok, row.d_ff, row.kind, step).status,
                want);
    }
  }
}

}  // namespace
}  // namespace krt::mlpk
