#include "modules/attnk/backward/backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "modules/attnk/contract/contract.h"
#include "modules/attnk/sdpa/agreement.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::attnk {
namespace {

using testing::all_within;
using testing::fixture;
using testing::FixtureCase;
using testing::Rng;
using testing::same_bits;
using testing::TestContext;
using testing::ValueCheck;

SdpaGrad gradients(const FixtureCase& c, int threads = 1) {
  TestContext context(threads);
  return sdpa_bwd_flat(context, c.f64s("dout"), c.f64s("q"), c.f64s("k"), c.f64s("v"), c.integer("n_tok_q"),
                       c.integer("n_tok_k"), c.integer("h_q"), c.integer("h_kv"), c.integer("d"), c.number("scale"));
}

TEST(Backward, MatchesTorchAutograd) {
  ValueCheck check("attnk.backward.sdpa_bwd_flat");
  for (const FixtureCase& c : fixture("attnk_backward")) {
    SCOPED_TRACE(c.name());
    const SdpaGrad g = gradients(c);
    EXPECT_EQ(g.status, kOk);
    EXPECT_EQ(g.n_tok_q, c.integer("n_tok_q"));
    EXPECT_EQ(g.n_tok_k, c.integer("n_tok_k"));
    // Sums of at most n_tok_q * group + n_tok_k + d terms, each below 64 here.
    const auto terms =
        static_cast<double>(c.integer("n_tok_q") * c.integer("h_q") + c.integer("n_tok_k") + c.integer("d"));
    const auto bound = [&](std::size_t, double) { return 64 * (terms + 8) * 0x1p-52; };
    EXPECT_TRUE((all_within<double, double>(g.dq, c.f64s("dq"), bound)));
    EXPECT_TRUE((all_within<double, double>(g.dk, c.f64s("dk"), bound)));
    EXPECT_TRUE((all_within<double, double>(g.dv, c.f64s("dv"), bound)));
    for (const int threads : {2, 16}) {
      EXPECT_TRUE(same_bits<double>(gradients(c, threads).dq, g.dq));
      EXPECT_TRUE(same_bits<double>(gradients(c, threads).dk, g.dk));
      EXPECT_TRUE(same_bits<double>(gradients(c, threads).dv, g.dv));
    }
  }
}

TEST(Backward, GradientCheckAgrees) {
  ValueCheck check("attnk.backward.attn_bwd_gradcheck_flat");
  Rng rng(61);
  SCOPED_TRACE(rng.trace());
  TestContext context;
  const auto q = rng.normals<double>(3 * 4 * 5), k = rng.normals<double>(6 * 2 * 5), v = rng.normals<double>(6 * 2 * 5);
  for (const double step : {1e-4, 1e-5, 1e-6}) {
    const BwdAgreement a = attn_bwd_gradcheck_flat(context, q, k, v, 3, 6, 4, 2, 5, 0.4, step);
    EXPECT_EQ(a.status, kOk);
    EXPECT_TRUE(a.within_tolerance) << a.max_abs_delta << " > " << a.tolerance_at_max;
    EXPECT_GT(a.max_abs_delta, 0);
    EXPECT_EQ(a.n_compared, 3 * 4 * 5 + 2 * 6 * 2 * 5);
  }
}

// The tolerance is small enough to notice a gradient that is wrong in its fourth digit.
TEST(Backward, ControlTheToleranceIsTight) {
  Rng rng(61);
  TestContext context;
  const auto q = rng.normals<double>(3 * 4 * 5), k = rng.normals<double>(6 * 2 * 5), v = rng.normals<double>(6 * 2 * 5);
  const BwdAgreement a = attn_bwd_gradcheck_flat(context, q, k, v, 3, 6, 4, 2, 5, 0.4, 1e-5);
  const SdpaGrad g = sdpa_bwd_flat(context, std::vector<double>(60, 1.0), q, k, v, 3, 6, 4, 2, 5, 0.4);
  EXPECT_LT(a.tolerance_at_max, 1e-4 * magnitude(g.dq));
  EXPECT_LT(a.tolerance_at_max, 1e-4 * magnitude(g.dk));
  // A step of 1 is no derivative: the differences are far from the gradient, and the wide tolerance says so.
  const BwdAgreement coarse = attn_bwd_gradcheck_flat(context, q, k, v, 3, 6, 4, 2, 5, 0.4, 1.0);
  EXPECT_GT(coarse.max_abs_delta, 1000 * a.max_abs_delta);
  EXPECT_GT(coarse.tolerance_at_max, 1000 * a.tolerance_at_max);
}

TEST(Backward, NanSpreadsToItsHead) {
  Rng rng(62);
  TestContext context;
  const auto dout = rng.normals<double>(8), k = rng.normals<double>(6), v = rng.normals<double>(6);
  auto q = rng.normals<double>(8);  // 2 queries, 2 heads, d 2; one key-value head of 3 keys
  q[0] = std::nan("");
  const SdpaGrad g = sdpa_bwd_flat(context, dout, q, k, v, 2, 3, 2, 1, 2, 1);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(std::isnan(g.dq[i]), i < 2) << i;
  for (const double x : g.dk) EXPECT_TRUE(std::isnan(x));
  const BwdAgreement a = attn_bwd_gradcheck_flat(context, q, k, v, 2, 3, 2, 1, 2, 1, 1e-5);
  EXPECT_EQ(a.status, kOk);
}

TEST(Backward, Refusals) {
  TestContext context;
  const std::vector<double> four(4), two(2), million(1 << 20);
  const double nan = std::nan("");
  EXPECT_EQ(sdpa_bwd_flat(context, four, four, four, four, 1, 2, 2, 1, 2, 1).status, kOk);
  const std::pair<SdpaGrad, std::int64_t> rows[] = {
      {sdpa_bwd_flat(context, two, four, four, four, 1, 2, 2, 1, 2, 1), kDoutLengthMismatch},
      {sdpa_bwd_flat(context, two, two, four, four, 1, 2, 2, 1, 2, 1), kQLengthMismatch},
      {sdpa_bwd_flat(context, four, four, two, four, 1, 2, 2, 1, 2, 1), kKLengthMismatch},
      {sdpa_bwd_flat(context, four, four, four, two, 1, 2, 2, 1, 2, 1), kVLengthMismatch},
      {sdpa_bwd_flat(context, four, four, four, four, 1, 0, 2, 1, 2, 1), kEmptyDimension},
      {sdpa_bwd_flat(context, four, four, four, four, 1, 2, 2, 1, 2, -1), kScaleInvalid},
  };
  for (const auto& [got, status] : rows) {
    EXPECT_EQ(got.status, status);
    EXPECT_TRUE(got.dq.empty() && got.dk.empty() && got.dv.empty() && got.n_tok_q == 0);
  }
  for (const double step : {0.0, -1e-5, nan, std::numeric_limits<double>::infinity()})
    EXPECT_EQ(attn_bwd_gradcheck_flat(context, four, four, four, 1, 2, 2, 1, 2, 1, step).status, kParameterInvalid);
  EXPECT_EQ(attn_bwd_gradcheck_flat(context, four, four, two, 1, 2, 2, 1, 2, 1, 1e-5).status, kVLengthMismatch);
  const BwdAgreement huge =
      attn_bwd_gradcheck_flat(context, million, million, million, 1 << 20, 1 << 20, 1, 1, 1, 1, 1);
  EXPECT_EQ(huge.status, kTooLarge);
  EXPECT_FALSE(huge.within_tolerance);
}

}  // namespace
}  // namespace krt::attnk
