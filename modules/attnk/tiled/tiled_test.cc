#include "modules/attnk/tiled/tiled.h"

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

struct Inputs {
  std::int64_t batch, h_q, h_kv, s_q, s_kv, d;
  double scale;
  bool causal;
  std::vector<double> q, k, v;

  [[nodiscard]] AttnResult direct(std::int64_t workers = 1, int threads = 1) const {
    TestContext c(threads);
    return attn_forward_direct(c, q, k, v, batch, h_q, h_kv, s_q, s_kv, d, scale, causal, workers);
  }
  [[nodiscard]] AttnResult unstable(std::int64_t workers = 1) const {
    TestContext c;
    return attn_forward_unstable(c, q, k, v, batch, h_q, h_kv, s_q, s_kv, d, scale, causal, workers);
  }
  [[nodiscard]] AttnResult tiled(std::int64_t br, std::int64_t bc, std::int64_t workers = 1, int threads = 1) const {
    TestContext c(threads);
    return attn_forward_tiled(c, q, k, v, batch, h_q, h_kv, s_q, s_kv, d, scale, causal, br, bc, workers);
  }
};

Inputs inputs_of(const FixtureCase& c) {
  return {c.integer("batch"), c.integer("h_q"), c.integer("h_kv"), c.integer("s_q"), c.integer("s_kv"), c.integer("d"),
          c.number("scale"),  c.flag("causal"), c.f64s("q"),       c.f64s("k"),      c.f64s("v")};
}

void expect_result(const AttnResult& got, const Inputs& in, const FixtureCase& c, Backend backend) {
  EXPECT_EQ(got.status, kOk);
  EXPECT_EQ(got.rows, in.batch * in.h_q * in.s_q);
  EXPECT_EQ(got.d, in.d);
  EXPECT_EQ(got.backend_used, backend);
  EXPECT_EQ(got.flop_count, attn_flop_count(in.batch, in.h_q, in.s_q, in.s_kv, in.d, in.causal));
  EXPECT_NEAR(got.max_abs_logit, c.number("max_abs_logit"), 1e-13);
  const double bound = 100 * softmax_tolerance(static_cast<std::size_t>(in.s_kv));
  EXPECT_TRUE((all_within<double, double>(got.out, c.f64s("out"), [&](std::size_t, double) { return bound; })));
}

TEST(Tiled, EveryFormMatchesTorch) {
  ValueCheck direct("attnk.tiled.attn_forward_direct");
  ValueCheck tiled("attnk.tiled.attn_forward_tiled");
  ValueCheck unstable("attnk.tiled.attn_forward_unstable");
  for (const FixtureCase& c : fixture("attnk_tiled")) {
    SCOPED_TRACE(c.name());
    const Inputs in = inputs_of(c);
    expect_result(in.direct(), in, c, kDirect);
    expect_result(in.unstable(), in, c, kUnstable);
    for (const std::int64_t br : {1, 2, 64})
      for (const std::int64_t bc : {1, 3, 64}) expect_result(in.tiled(br, bc), in, c, kTiled);
    for (const int threads : {1, 16}) {
      EXPECT_TRUE(same_bits<double>(in.direct(5, threads).out, in.direct().out));
      EXPECT_TRUE(same_bits<double>(in.tiled(2, 3, 7, threads).out, in.tiled(1, 3).out));
    }
  }
}

TEST(Tiled, WorkersMemoryAndWork) {
  ValueCheck flops("attnk.tiled.attn_flop_count");
  Rng rng(71);
  const Inputs in{
      1, 4, 2, 6, 9, 3, 0.5, true, rng.normals<double>(72), rng.normals<double>(54), rng.normals<double>(54)};
  EXPECT_EQ(in.direct(100).n_workers, 4);
  EXPECT_EQ(in.direct(3).n_workers, 3);
  EXPECT_EQ(in.direct(3).working_set_bytes, 3 * attn_ws_bytes_direct(6, 9, 3));
  EXPECT_EQ(in.tiled(4, 100, 100).n_workers, 8);  // two row tiles a head
  EXPECT_EQ(in.tiled(4, 100, 100).working_set_bytes, 8 * attn_ws_bytes_tiled(4, 9, 3));
  // Rows see 4, 5, 6, 7, 8 and 9 keys.
  EXPECT_EQ(attn_flop_count(1, 4, 6, 9, 3, true), 4.0 * 4 * 3 * 39);
  EXPECT_EQ(attn_flop_count(1, 4, 6, 9, 3, false), 4.0 * 4 * 3 * 54);
  EXPECT_EQ(attn_flop_count(2, 1, 6, 4, 1, true), 4.0 * 2 * 10);  // rows 0 and 1 see none
  EXPECT_EQ(attn_flop_count(2, 1, 0, 4, 1, true), 0);
  EXPECT_EQ(attn_flop_count(2, 1, 6, -4, 1, false), 0);
}

TEST(Tiled, ReferenceDelta) {
  ValueCheck check("attnk.tiled.attn_reference_delta");
  Rng rng(72);
  TestContext context(2);
  const auto q = rng.normals<double>(2 * 4 * 40 * 8), k = rng.normals<double>(2 * 2 * 70 * 8),
             v = rng.normals<double>(2 * 2 * 70 * 8);
  for (const bool causal : {false, true}) {
    const AttnDelta d = attn_reference_delta(context, q, k, v, 2, 4, 2, 40, 70, 8, 0.35, causal);
    EXPECT_EQ(d.status, kOk);
    EXPECT_TRUE(d.within_tolerance) << d.max_abs_delta;
    EXPECT_GT(d.max_abs_delta, 0);
    EXPECT_GE(d.max_rel_delta, 0);
    EXPECT_LT(d.max_rel_delta, 1e-9);
    EXPECT_EQ(d.n_compared, 2 * 4 * 40 * 8);
  }
}

TEST(Tiled, LargeLogitsOverflowOnlyTheUnstableForm) {
  Inputs in{1, 1, 1, 2, 2, 1, 1, false, {800, -800}, {1, 0.5}, {1, 3}};
  const AttnResult stable = in.direct(), tiles = in.tiled(1, 1), unstable = in.unstable();
  EXPECT_EQ(stable.max_abs_logit, 800);
  EXPECT_NEAR(stable.out[0], 1, 1e-15);
  EXPECT_NEAR(stable.out[1], 3, 1e-15);
  EXPECT_TRUE(same_bits<double>(tiles.out, stable.out));
  EXPECT_TRUE(std::isnan(unstable.out[0]));  // inf / inf
  EXPECT_TRUE(std::isfinite(unstable.out[1]));
  in.q[1] = -1600;
  EXPECT_TRUE(std::isnan(in.unstable().out[1]));  // 0 / 0
}

TEST(Tiled, RowsWithoutKeysAreZeroAndNanIsKept) {
  Rng rng(73);
  Inputs in{1, 1, 1, 4, 2, 3, 1, true, rng.normals<double>(12), rng.normals<double>(6), rng.normals<double>(6)};
  for (const AttnResult& r : {in.direct(), in.unstable(), in.tiled(2, 1)})
    for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(r.out[i] == 0, i < 6) << i;
  in.q[6] = std::nan("");  // row 2
  for (const AttnResult& r : {in.direct(), in.unstable(), in.tiled(2, 1, 2)}) {
    EXPECT_TRUE(std::isnan(r.max_abs_logit));
    for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(std::isnan(r.out[i]), i / 3 == 2) << i;
  }
}

TEST(Tiled, Refusals) {
  const std::vector<double> four(4), two(2);
  const Inputs sound{1, 2, 1, 1, 2, 2, 1, false, four, four, four};
  EXPECT_EQ(sound.direct().status, kOk);
  const auto with = [&](auto change) {
    Inputs in = sound;
    change(in);
    return in;
  };
  const std::pair<Inputs, std::int64_t> rows[] = {
      {with([](Inputs& i) { i.batch = 0; }), kEmptyDimension},
      {with([](Inputs& i) { i.s_kv = std::numeric_limits<std::int64_t>::max(); }), kDimensionTooLarge},
      {with([](Inputs& i) { i.h_kv = 3; }), kHeadsNotGrouped},
      {with([](Inputs& i) { i.scale = 0; }), kScaleInvalid},
      {with([](Inputs& i) { i.s_q = i.s_kv = i.batch = kMaxDim; }), kTooLarge},
      {with([&](Inputs& i) { i.q = two; }), kQLengthMismatch},
      {with([&](Inputs& i) { i.k = two; }), kKLengthMismatch},
      {with([&](Inputs& i) { i.v = two; }), kVLengthMismatch},
  };
  for (const auto& [in, status] : rows)
    for (const AttnResult& r : {in.direct(), in.unstable(), in.tiled(1, 1)}) {
      EXPECT_EQ(r.status, status);
      EXPECT_TRUE(r.out.empty() && r.rows == 0 && r.n_workers == 0 && r.backend_used == kNone);
    }
  EXPECT_EQ(sound.direct(0).status, kEmptyDimension);
  EXPECT_EQ(sound.tiled(0, 1).status, kEmptyDimension);
  EXPECT_EQ(sound.tiled(1, -1).status, kEmptyDimension);
  EXPECT_EQ(sound.tiled(1, 1, 0).status, kEmptyDimension);
  EXPECT_EQ(sound
                .tiled(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max(),
                       std::numeric_limits<std::int64_t>::max())
                .status,
            kOk);
  const std::vector<double> long_rows(8193);
  const Inputs whole{1, 1, 1, 8193, 8193, 1, 1, false, long_rows, long_rows, long_rows};
  EXPECT_EQ(whole.direct().status, kTooLarge);
  TestContext context;
  EXPECT_EQ(attn_reference_delta(context, four, four, two, 1, 2, 1, 1, 2, 2, 1, false).status, kVLengthMismatch);
}

}  // namespace
}  // namespace krt::attnk
