#include "modules/attnk/flash/flash.h"

#include <gtest/gtest.h>

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

const double kNan = std::nan("");
const double kInf = std::numeric_limits<double>::infinity();

FlashOut run(const FixtureCase& c, std::int64_t block_k, int threads = 1) {
  TestContext context(threads);
  return flash_forward_flat(context, c.f64s("q"), c.f64s("k"), c.f64s("v"), c.f64s("bias"), c.integer("n_tok_q"),
                            c.integer("n_tok_k"), c.integer("h_q"), c.integer("h_kv"), c.integer("d"),
                            c.number("scale"), c.flag("use_bias"), block_k);
}

TEST(Flash, MatchesTorchForEveryBlock) {
  ValueCheck check("attnk.flash.flash_forward_flat");
  for (const FixtureCase& c : fixture("attnk_sdpa"))
    for (const std::int64_t block_k : {1, 3, 16, 1000}) {
      SCOPED_TRACE(c.name() + " block " + std::to_string(block_k));
      const FlashOut got = run(c, block_k);
      const std::int64_t n = c.integer("n_tok_k"), block = std::min(block_k, n);
      EXPECT_EQ(got.blocks_walked, (n + block - 1) / block);
      EXPECT_EQ(got.status, kOk);
      // Scores of these cases are sums of d products below 16: S is at most 100.
      const double bound = 2 * (softmax_tolerance(static_cast<std::size_t>(n)) +
                                sdpa_bound(static_cast<double>(n), static_cast<double>(c.integer("d")), 100));
      const double top = magnitude(c.f64s("v"));
      EXPECT_TRUE((all_within<double, double>(got.out, c.f64s("out"), [&](auto, double) { return bound * top; })));
      EXPECT_TRUE((all_within<double, double>(got.lse, c.f64s("lse"), [&](auto, double) { return bound; })));
      EXPECT_TRUE(same_bits<double>(run(c, block_k, 16).out, got.out));
    }
}

TEST(Flash, AgreesWithSdpa) {
  ValueCheck check("attnk.flash.flash_agrees_with_sdpa");
  Rng rng(51);
  SCOPED_TRACE(rng.trace());
  TestContext context;
  const auto q = rng.normals<double>(5 * 4 * 16), k = rng.normals<double>(90 * 2 * 16),
             v = rng.normals<double>(90 * 2 * 16);
  for (const double scale : {0.25, 30.0})
    for (const std::int64_t block : {1, 7, 90}) {
      const FlashAgreement a = flash_agrees_with_sdpa(context, q, k, v, {}, 5, 90, 4, 2, 16, scale, false, block);
      EXPECT_EQ(a.status, kOk);
      EXPECT_TRUE(a.within_tolerance) << a.max_out_delta << " " << a.max_lse_delta;
      EXPECT_LE(a.max_out_delta, a.tolerance_at_max);
      EXPECT_EQ(a.n_compared, 5 * 4 * 16 + 5 * 4);
    }
}

TEST(Flash, ControlTheComparisonCanFail) {
  Agreement a;
  a.add(1.0, 1.0, 0);
  EXPECT_TRUE(a.within);
  a.add(1.0 + 1e-9, 1.0, 1e-12);
  EXPECT_FALSE(a.within);
  EXPECT_EQ(a.tolerance_at_max, 1e-12);
  Agreement nan;
  nan.add(kNan, kNan, 0);
  EXPECT_TRUE(nan.within);
  nan.add(kNan, 1, 1e9);
  EXPECT_FALSE(nan.within);
  EXPECT_EQ(nan.max_delta, kInf);
}

TEST(Flash, NanAndInfinityAsInSdpa) {
  Rng rng(52);
  TestContext context;
  const auto q = rng.normals<double>(2 * 4), v = rng.normals<double>(6 * 4);
  for (const double bad : {kNan, kInf, -kInf}) {
    auto k = rng.normals<double>(6 * 4);
    k[9] = bad;  // key 2
    const FlashAgreement a = flash_agrees_with_sdpa(context, q, k, v, {}, 2, 6, 1, 1, 4, 0.5, false, 2);
    EXPECT_TRUE(a.within_tolerance) << bad;
  }
  // All keys of the first blocks masked: the maximum starts late.
  const auto k = rng.normals<double>(6 * 4);
  const std::vector<double> bias{-kInf, -kInf, -kInf, -kInf, 0, 0, -kInf, -kInf, -kInf, -kInf, -kInf, -kInf};
  EXPECT_TRUE(flash_agrees_with_sdpa(context, q, k, v, bias, 2, 6, 1, 1, 4, 0.5, true, 2).within_tolerance);
}

TEST(Flash, BlockPlan) {
  ValueCheck check("attnk.flash.flash_block_plan");
  // A key of d 128 takes 8 * 257 bytes, a row 8 * 258.
  const FlashPlan p = flash_block_plan(4096, 128, 8 * 258 + 10 * 8 * 257 + 7);
  EXPECT_EQ(p.status, kOk);
  EXPECT_EQ(p.block_k, 10);
  EXPECT_EQ(p.n_blocks, 410);
  EXPECT_EQ(p.working_bytes, 8 * 258 + 10 * 8 * 257);
  EXPECT_EQ(p.materialized_bytes, 8.0 * 4096 * 4096);
  EXPECT_EQ(flash_block_plan(5, 128, std::numeric_limits<std::int64_t>::max()).block_k, 5);
  EXPECT_EQ(flash_block_plan(5, 128, 8 * 515).block_k, 1);
  EXPECT_EQ(flash_block_plan(5, 128, 8 * 515 - 1).status, kParameterInvalid);
  EXPECT_EQ(flash_block_plan(5, 128, std::numeric_limits<std::int64_t>::min()).status, kParameterInvalid);
  EXPECT_EQ(flash_block_plan(0, 128, 1 << 20).status, kEmptyDimension);
  EXPECT_EQ(flash_block_plan(5, kMaxDim + 1, 1 << 20).status, kDimensionTooLarge);
}

TEST(Flash, Refusals) {
  TestContext context;
  const std::vector<double> four(4), two(2);
  EXPECT_EQ(flash_forward_flat(context, four, four, four, two, 1, 2, 2, 1, 2, 1, true, 1).status, kOk);
  EXPECT_EQ(flash_forward_flat(context, four, four, four, two, 1, 2, 2, 1, 2, 1, true, 0).status, kEmptyDimension);
  EXPECT_EQ(flash_forward_flat(context, four, four, four, four, 1, 2, 2, 1, 2, 1, true, 1).status, kBiasLengthMismatch);
  EXPECT_EQ(flash_forward_flat(context, four, four, two, two, 1, 2, 2, 1, 2, 1, true, 1).status, kVLengthMismatch);
  const FlashAgreement a = flash_agrees_with_sdpa(context, four, four, two, two, 1, 2, 2, 1, 2, 1, true, 1);
  EXPECT_EQ(a.status, kVLengthMismatch);
  EXPECT_FALSE(a.within_tolerance);
  EXPECT_EQ(a.n_compared, 0);
}

}  // namespace
}  // namespace krt::attnk
