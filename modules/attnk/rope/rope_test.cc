#include "modules/attnk/rope/rope.h"

#include <gtest/gtest.h>

#include <numbers>

#include "modules/attnk/contract/contract.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::attnk {
namespace {

using testing::all_within;
using testing::fixture;
using testing::FixtureCase;
using testing::GuardedBuffer;
using testing::Rng;
using testing::same_bits;
using testing::TestContext;
using testing::ValueCheck;

const double kNan = std::nan("");
const double kInf = std::numeric_limits<double>::infinity();

RopeTable table(std::int64_t head_dim, std::int64_t max_pos, double theta, int threads = 1) {
  TestContext context(threads);
  return rope_table(context, head_dim, max_pos, theta);
}

RopeApplied apply(std::span<const double> x, std::span<const double> cosines, std::span<const double> sines,
                  std::int64_t n_tok, std::int64_t n_heads, std::int64_t head_dim, std::span<const std::int64_t> pos,
                  bool interleaved, bool inverse = false, int threads = 1) {
  TestContext context(threads);
  return (inverse ? rope_apply_inverse_flat : rope_apply_flat)(context, x, cosines, sines, n_tok, n_heads, head_dim,
                                                               pos, interleaved);
}

// transformers and torch in f64: off by no more than our own bound themselves, hence twice.
TEST(Rope, TablesMatchTransformers) {
  ValueCheck plain("attnk.rope.rope_table");
  ValueCheck llama3("attnk.rope.rope_table_llama3");
  ValueCheck frequencies("attnk.rope.rope_inv_freq");
  ValueCheck scaled("attnk.rope.rope_inv_freq_llama3");
  for (const FixtureCase& c : fixture("attnk_rope")) {
    SCOPED_TRACE(c.name());
    const std::int64_t head_dim = c.integer("head_dim"), max_pos = c.integer("max_pos");
    const double theta = c.number("theta");
    TestContext context;
    std::vector<double> f;
    RopeTable t;
    if (c.has("factor")) {
      const double factor = c.number("factor"), low = c.number("low"), high = c.number("high"),
                   original = c.number("original");
      f = rope_inv_freq_llama3(head_dim, theta, factor, low, high, original);
      t = rope_table_llama3(context, head_dim, max_pos, theta, factor, low, high, original);
    } else {
      f = rope_inv_freq(head_dim, theta);
      t = rope_table(context, head_dim, max_pos, theta);
    }
    const std::vector<double> want = c.f64s("inv_freq");
    EXPECT_TRUE(
        (all_within<double, double>(f, want, [&](std::size_t, double w) { return 2 * w * rope_bound(theta, 1); })));
    const auto bound = [&](std::size_t i, double) {
      const std::size_t position = i / want.size();
      return 2 * rope_bound(theta, static_cast<double>(position) * want[i % want.size()]);
    };
    EXPECT_TRUE((all_within<double, double>(t.cos_table, c.f64s("cos"), bound)));
    EXPECT_TRUE((all_within<double, double>(t.sin_table, c.f64s("sin"), bound)));
    EXPECT_EQ(t.status, kOk);
    EXPECT_EQ(t.n_pairs, head_dim / 2);
    EXPECT_EQ(t.max_pos, max_pos);
    EXPECT_EQ(t.theta, theta);
  }
}

TEST(Rope, ApplyMatchesTransformers) {
  ValueCheck check("attnk.rope.rope_apply_flat");
  for (const FixtureCase& c : fixture("attnk_rope"))
    for (const bool interleaved : {false, true}) {
      SCOPED_TRACE(c.name());
      const GuardedBuffer<double> x(c.f64s("x")), cosines(c.f64s("cos")), sines(c.f64s("sin"));
      const GuardedBuffer<std::int64_t> pos(c.i64s("pos"));
      const RopeApplied r = apply(x.cspan(), cosines.cspan(), sines.cspan(), c.integer("n_tok"), c.integer("n_heads"),
                                  c.integer("head_dim"), pos.cspan(), interleaved);
      EXPECT_EQ(r.status, kOk);
      // Both round two products and a sum of values below 8.
      EXPECT_TRUE((all_within<double, double>(r.values, c.f64s(interleaved ? "interleaved" : "half"),
                                              [](std::size_t, double) { return 16 * 0x1p-52; })));
    }
}

TEST(Rope, FarPositionsStayWithinTheBound) {
  ValueCheck check("attnk.rope.rope_table");
  const std::int64_t head_dim = 128, rows = 40960;
  for (const double theta : {10000.0, 1000000.0, 0.5}) {
    const RopeTable t = table(head_dim, rows, theta);
    for (const std::int64_t pos : {std::int64_t{1}, std::int64_t{4095}, rows - 1})
      for (std::int64_t p = 0; p < head_dim / 2; ++p) {
        const long double exponent = static_cast<long double>(2 * p) / head_dim;
        const long double angle = static_cast<long double>(pos) * std::pow(static_cast<long double>(theta), -exponent);
        const double bound = rope_bound(theta, static_cast<double>(angle));
        const auto at = static_cast<std::size_t>(pos * head_dim / 2 + p);
        EXPECT_NEAR(t.cos_table[at], static_cast<double>(std::cos(angle)), bound) << pos << " " << p;
        EXPECT_NEAR(t.sin_table[at], static_cast<double>(std::sin(angle)), bound) << pos << " " << p;
      }
  }
}

TEST(Rope, FrequencyFactorsDivideTheAngle) {
  ValueCheck check("attnk.rope.rope_table_freq_factors");
  TestContext context;
  const std::vector<double> factors{1, 2, 8, 32};
  const RopeTable t = rope_table_freq_factors(context, 8, 5, 10000, factors);
  ASSERT_EQ(t.status, kOk);
  for (std::size_t pos = 0; pos < 5; ++pos)
    for (std::size_t p = 0; p < 4; ++p) {
      const long double angle = static_cast<long double>(pos) * std::pow(10000.0L, -2.0L * p / 8) / factors[p];
      EXPECT_NEAR(t.cos_table[pos * 4 + p], static_cast<double>(std::cos(angle)), rope_bound(10000, 4));
      EXPECT_NEAR(t.sin_table[pos * 4 + p], static_cast<double>(std::sin(angle)), rope_bound(10000, 4));
    }
}

TEST(Rope, InverseTurnsBackAndThreadsChangeNoBits) {
  ValueCheck check("attnk.rope.rope_apply_inverse_flat");
  Rng rng(20261130);
  SCOPED_TRACE(rng.trace());
  const std::int64_t tokens = 70, heads = 5, head_dim = 96;
  const auto x = rng.normals<double>(static_cast<std::size_t>(tokens * heads * head_dim));
  const RopeTable t = table(head_dim, 100, 10000);
  std::vector<std::int64_t> pos;
  for (std::int64_t i = 0; i < tokens; ++i) pos.push_back(rng.integer(0, 99));
  for (const bool interleaved : {false, true}) {
    const RopeApplied forth = apply(x, t.cos_table, t.sin_table, tokens, heads, head_dim, pos, interleaved);
    const RopeApplied back =
        apply(forth.values, t.cos_table, t.sin_table, tokens, heads, head_dim, pos, interleaved, true);
    EXPECT_TRUE((all_within<double, double>(back.values, x, [](std::size_t, double) { return 64 * 0x1p-52; })));
    for (const int threads : {2, 16}) {
      EXPECT_TRUE(same_bits<double>(
          apply(x, t.cos_table, t.sin_table, tokens, heads, head_dim, pos, interleaved, false, threads).values,
          forth.values));
      EXPECT_TRUE(
          same_bits<double>(table(head_dim, 1000, 10000, threads).sin_table, table(head_dim, 1000, 10000).sin_table));
    }
  }
}

TEST(Rope, ControlTheOtherPairingIsNoticed) {
  const RopeTable t = table(4, 2, 10000);
  const std::vector<double> x{1, 2, 3, 4};
  const std::vector<std::int64_t> pos{1};
  const auto half = apply(x, t.cos_table, t.sin_table, 1, 1, 4, pos, false);
  const auto pairs = apply(x, t.cos_table, t.sin_table, 1, 1, 4, pos, true);
  EXPECT_FALSE((all_within<double, double>(half.values, pairs.values, [](std::size_t, double) { return 1e-3; })));
}

TEST(Rope, NonFiniteValuesStayInTheirPair) {
  const RopeTable t = table(4, 2, 10000);
  const std::vector<std::int64_t> pos{1};
  const auto r = apply(std::vector<double>{kNan, 2, kInf, 4}, t.cos_table, t.sin_table, 1, 1, 4, pos, true);
  EXPECT_TRUE(std::isnan(r.values[0]) && std::isnan(r.values[1]));
  EXPECT_TRUE(std::isinf(r.values[2]) && std::isinf(r.values[3]));
}

TEST(Rope, TableRefusals) {
  TestContext context;
  const struct {
    std::int64_t head_dim, max_pos;
    double theta;
    std::int64_t status;
  } rows[] = {{0, 4, 1e4, kEmptyDimension},
              {8, 0, 1e4, kEmptyDimension},
              {-2, 4, 1e4, kEmptyDimension},
              {kMaxDim + 2, 4, 1e4, kDimensionTooLarge},
              {8, kMaxDim + 1, 1e4, kDimensionTooLarge},
              {7, 4, 1e4, kHeadDimOdd},
              {8, 4, 0, kParameterInvalid},
              {8, 4, -1, kParameterInvalid},
              {8, 4, kNan, kParameterInvalid},
              {8, 4, kInf, kParameterInvalid},
              {kMaxDim, kMaxDim, 1e4, kTooLarge}};
  for (const auto& r : rows) {
    const RopeTable t = rope_table(context, r.head_dim, r.max_pos, r.theta);
    EXPECT_EQ(t.status, r.status);
    EXPECT_TRUE(t.cos_table.empty() && t.sin_table.empty());
    EXPECT_EQ(rope_table_llama3(context, r.head_dim, r.max_pos, r.theta, 8, 1, 4, 8192).status, r.status);
    EXPECT_EQ(rope_table_freq_factors(context, r.head_dim, r.max_pos, r.theta, {}).status, r.status);
  }
  for (const double bad : {0.0, -1.0, kNan, kInf}) {
    EXPECT_EQ(rope_table_llama3(context, 8, 4, 1e4, bad, 1, 4, 8192).status, kParameterInvalid);
    EXPECT_EQ(rope_table_llama3(context, 8, 4, 1e4, 8, bad, 4, 8192).status, kParameterInvalid);
    EXPECT_EQ(rope_table_llama3(context, 8, 4, 1e4, 8, 1, bad, 8192).status, kParameterInvalid);
    EXPECT_EQ(rope_table_llama3(context, 8, 4, 1e4, 8, 1, 4, bad).status, kParameterInvalid);
    EXPECT_EQ(rope_table_freq_factors(context, 2, 4, 1e4, std::vector{bad}).status, kParameterInvalid);
    EXPECT_TRUE(rope_inv_freq(8, bad).empty());
  }
  EXPECT_EQ(rope_table_llama3(context, 8, 4, 1e4, 8, 4, 4, 8192).status, kParameterInvalid);
  EXPECT_EQ(rope_table_freq_factors(context, 8, 4, 1e4, std::vector{1.0, 1.0, 1.0}).status, kListLengthMismatch);
  EXPECT_TRUE(rope_inv_freq(7, 1e4).empty());
  EXPECT_TRUE(rope_inv_freq(0, 1e4).empty());
  EXPECT_TRUE(rope_inv_freq_llama3(8, 1e4, 8, 4, 1, 8192).empty());
}

TEST(Rope, ApplyRefusals) {
  const std::vector<double> x(8), rows3(6), rows2(4), odd(5);
  const std::vector<std::int64_t> pos{0, 2}, one{0}, late{0, 3}, negative{-1, 0};
  const struct {
    std::span<const double> x, cosines, sines;
    std::int64_t n_tok, n_heads, head_dim;
    std::span<const std::int64_t> pos;
    std::int64_t status;
  } cases[] = {{x, rows3, rows3, 2, 1, 4, pos, kOk},
               {x, rows3, rows3, 0, 1, 4, pos, kEmptyDimension},
               {x, rows3, rows3, 2, -1, 4, pos, kEmptyDimension},
               {x, rows3, rows3, kMaxDim + 1, 1, 4, pos, kDimensionTooLarge},
               {x, rows3, rows3, 2, 1, 3, pos, kHeadDimOdd},
               {x, rows3, rows3, 2, 2, 4, pos, kListLengthMismatch},
               {x, rows3, rows3, kMaxDim, kMaxDim, kMaxDim, pos, kListLengthMismatch},
               {x, odd, odd, 2, 1, 4, pos, kTableLengthMismatch},
               {x, rows3, rows2, 2, 1, 4, pos, kTableLengthMismatch},
               {x, rows3, rows3, 2, 1, 4, one, kListLengthMismatch},
               {x, rows2, rows2, 2, 1, 4, pos, kPositionOutOfRange},
               {x, rows3, rows3, 2, 1, 4, late, kPositionOutOfRange},
               {x, rows3, rows3, 2, 1, 4, negative, kPositionOutOfRange},
               {x, {}, {}, 2, 1, 4, pos, kPositionOutOfRange}};
  for (const auto& c : cases)
    for (const bool inverse : {false, true}) {
      const auto r = apply(c.x, c.cosines, c.sines, c.n_tok, c.n_heads, c.head_dim, c.pos, false, inverse);
      EXPECT_EQ(r.status, c.status);
      EXPECT_EQ(r.values.empty(), c.status != kOk);
    }
}

TEST(Rope, ThetaConventions) {
  ValueCheck agreement("attnk.rope.rope_theta_agreement");
  ValueCheck theta("attnk.rope.rope_theta_for");
  EXPECT_EQ(rope_theta_for(10000, 4, 0), 10000);
  EXPECT_EQ(rope_theta_for(10000, 4, 1), 40000);
  EXPECT_EQ(rope_theta_for(10000, 4, 2), 160000);
  EXPECT_EQ(rope_theta_for(10000, 4, 3), 0);
  EXPECT_EQ(rope_theta_for(10000, kNan, 1), 0);
  EXPECT_EQ(rope_theta_for(-1, 4, 1), 0);
  const RopeAgreement longer = rope_theta_agreement(10000, 2048, 8192);
  EXPECT_EQ(longer.squared_convention, 160000);
  EXPECT_EQ(longer.linear_convention, 40000);
  EXPECT_EQ(longer.ratio, 4);
  EXPECT_FALSE(longer.agree);
  EXPECT_TRUE(rope_theta_agreement(10000, 2048, 2048).agree);
  EXPECT_FALSE(rope_theta_agreement(10000, 0, 2048).agree);
}

}  // namespace
}  // namespace krt::attnk
