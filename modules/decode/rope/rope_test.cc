#include "modules/decode/rope/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "modules/decode/contract/contract.h"
#include "runtime/core/half.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::decode {
namespace {

using testing::GuardedBuffer;
using testing::Rng;
using testing::same_bits;
using testing::ValueCheck;

constexpr double kBound = 4 * 0x1p-24;
constexpr double kTheta = 10000;

struct Shape {
  std::size_t rows, q_heads, k_heads, head_dim;
  bool interleaved;
};

// Which elements of a head make pair i.
std::pair<std::size_t, std::size_t> pair_of(const Shape& s, std::size_t i) {
  return s.interleaved ? std::pair{2 * i, 2 * i + 1} : std::pair{i, i + s.head_dim / 2};
}

struct Expected {
  std::vector<double> values, bounds;
};

// The oracle: a rotation is a product of complex numbers, here in long double, with the angle from the formula.
Expected oracle(const Shape& s, std::span<const float> x, std::size_t heads, std::span<const std::int64_t> pos,
                double theta) {
  Expected out{std::vector<double>(x.size()), std::vector<double>(x.size())};
  for (std::size_t row = 0; row < s.rows; ++row) {
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t at = (row * heads + head) * s.head_dim;
      for (std::size_t i = 0; i < s.head_dim / 2; ++i) {
        const long double exponent = -2 * static_cast<long double>(i) / static_cast<long double>(s.head_dim);
        const long double angle =
            static_cast<long double>(pos[row]) * std::pow(static_cast<long double>(theta), exponent);
        const auto [first, second] = pair_of(s, i);
        const std::complex<long double> z(x[at + first], x[at + second]);
        const std::complex<long double> turned = z * std::polar(1.0L, angle);
        const double c = std::fabs(static_cast<double>(std::cos(angle)));
        const double sine = std::fabs(static_cast<double>(std::sin(angle)));
        const double a = std::fabs(double{x[at + first]});
        const double b = std::fabs(double{x[at + second]});
        out.values[at + first] = static_cast<double>(turned.real());
        out.values[at + second] = static_cast<double>(turned.imag());
        out.bounds[at + first] = kBound * (a * c + b * sine) + 0x1p-149;
        out.bounds[at + second] = kBound * (b * c + a * sine) + 0x1p-149;
      }
    }
  }
  return out;
}

::testing::AssertionResult within_bound(std::span<const float> got, const Expected& want) {
  return testing::all_within<float, double>(got, want.values, [&](std::size_t i, double) { return want.bounds[i]; });
}

struct Fixture {
  explicit Fixture(std::string_view variant = {}, int threads = 1) : arena(threads) { context.force_variant = variant; }
  Arena arena;
  HandleTable handles;
  Context context{arena, handles};
};

std::vector<std::int64_t> positions(Rng& rng, std::size_t rows) {
  std::vector<std::int64_t> out(rows);
  for (std::int64_t& p : out) p = rng.integer(0, 1) == 0 ? rng.integer(0, 5000) : rng.integer(0, kMaxDim);
  return out;
}

class Rope : public ::testing::TestWithParam<Shape> {};

TEST_P(Rope, EveryVariantIsWithinTheBound) {
  const Shape& s = GetParam();
  Rng rng(20270431);
  SCOPED_TRACE(rng.trace());
  const auto n = static_cast<std::int64_t>(s.head_dim);
  for (const double theta : {kTheta, 500000.0, 1.0}) {
    const std::vector<std::int64_t> pos = positions(rng, s.rows);
    const std::vector<float> q = rng.normals<float>(s.rows * s.q_heads * s.head_dim);
    const std::vector<float> k = rng.normals<float>(s.rows * s.k_heads * s.head_dim);
    const Expected want_q = oracle(s, q, s.q_heads, pos, theta);
    const Expected want_k = oracle(s, k, s.k_heads, pos, theta);
    for (const auto& variant : variants_here(rope_variants())) {
      ValueCheck check("decode.rope", variant.name);
      Fixture f(variant.name);
      GuardedBuffer<float> turned_q{std::span<const float>(q)}, turned_k{std::span<const float>(k)};
      const RopeResult r = rope(f.context, turned_q.span(), turned_k.span(), pos, n, theta, s.interleaved);
      EXPECT_EQ(r.status, kOk);
      EXPECT_EQ(f.context.variant, variant.name);
      EXPECT_TRUE(within_bound(turned_q.cspan(), want_q)) << variant.name << ", theta " << theta;
      EXPECT_TRUE(within_bound(turned_k.cspan(), want_k)) << variant.name << ", theta " << theta;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Rope,
                         ::testing::Values(Shape{1, 1, 1, 2, false}, Shape{1, 1, 1, 2, true}, Shape{2, 3, 1, 6, false},
                                           Shape{2, 3, 1, 6, true}, Shape{1, 2, 2, 34, false}, Shape{1, 2, 2, 34, true},
                                           Shape{3, 9, 3, 64, false}, Shape{2, 4, 2, 80, true},
                                           Shape{2, 4, 2, 80, false}, Shape{1, 32, 8, 128, false},
                                           Shape{1, 32, 8, 128, true}, Shape{2, 4, 1, 256, false},
                                           Shape{1, 2, 1, 514, true}, Shape{1, 2, 1, 514, false},
                                           Shape{4, 2, 0, 96, false}),
                         [](const auto& info) {
                           const Shape& s = info.param;
                           return std::to_string(s.rows) + "x" + std::to_string(s.q_heads) + "x" +
                                  std::to_string(s.head_dim) + (s.interleaved ? "_pairs" : "_halves");
                         });

TEST(RopeControl, AnErrorBeyondTheBoundIsNoticed) {
  const Shape s{1, 1, 0, 2, false};
  const std::vector<float> q{1.25F, 0.75F};
  std::vector<float> turned = q, none;
  Fixture f;
  EXPECT_EQ(rope(f.context, turned, none, std::vector<std::int64_t>{1}, 2, kTheta, false).status, kOk);
  const Expected want = oracle(s, q, 1, std::vector<std::int64_t>{1}, kTheta);
  EXPECT_TRUE(within_bound(turned, want));
  const float right = turned[1];
  turned[1] = right * (1 + 16 * 0x1p-24F);
  EXPECT_FALSE(within_bound(turned, want));
  turned = {turned[0], -right};
  EXPECT_FALSE(within_bound(turned, want)) << "a rotation the other way";
}

TEST(RopeExact, PositionZeroChangesNothing) {
  Rng rng(20270432);
  const std::vector<float> q = rng.normals<float>(3 * 64);
  for (const auto& variant : variants_here(rope_variants())) {
    for (const bool interleaved : {false, true}) {
      std::vector<float> turned = q, none;
      Fixture f(variant.name);
      rope(f.context, turned, none, std::vector<std::int64_t>{0}, 64, kTheta, interleaved);
      EXPECT_TRUE(same_bits<float>(turned, q)) << variant.name;
    }
  }
}

TEST(RopeBits, DependOnNeitherThreadsNorBatch) {
  constexpr std::size_t kRows = 67;
  constexpr std::size_t kWidth = 10 * 128;  // above kParallelMinValues together
  Rng rng(20270433);
  SCOPED_TRACE(rng.trace());
  const std::vector<std::int64_t> pos = positions(rng, kRows);
  const std::vector<float> q = rng.normals<float>(kRows * kWidth);
  for (const auto& variant : variants_here(rope_variants())) {
    std::vector<float> want = q, none;
    Fixture one(variant.name);
    rope(one.context, want, none, pos, 128, kTheta, false);
    for (const int threads : {2, 16}) {
      std::vector<float> turned = q;
      Fixture f(variant.name, threads);
      rope(f.context, turned, none, pos, 128, kTheta, false);
      EXPECT_TRUE(same_bits<float>(turned, want)) << variant.name << threads;
    }
    std::vector<float> last(q.end() - kWidth, q.end());
    rope(one.context, last, none, std::span(pos).last(1), 128, kTheta, false);
    EXPECT_TRUE(same_bits<float>(last, std::span<const float>(want).last(kWidth))) << variant.name;
  }
}

// With the angles of rope itself, of rows in any order; with those divided by factors, as other positions have them.
TEST(RopeRows, TurnByTheAnglesThatTheyAreGiven) {
  Rng rng(20270434);
  SCOPED_TRACE(rng.trace());
  const std::vector<std::int64_t> pos{7, 0, 4096};
  std::vector<double> cos, sin;
  for (const std::int64_t p : pos) {
    RopeAngles angles;
    rope_angles(p, rope_frequencies(32, kTheta), angles);
    cos.insert(cos.end(), angles.cos.begin(), angles.cos.end());
    sin.insert(sin.end(), angles.sin.begin(), angles.sin.end());
  }
  const std::vector<float> q = rng.normals<float>(3 * 5 * 32);
  for (const auto& variant : variants_here(rope_variants()))
    for (const bool interleaved : {false, true}) {
      std::vector<float> want = q, got = q, none;
      Fixture f(variant.name);
      rope(f.context, want, none, pos, 32, kTheta, interleaved);
      rope_rows(f.context, got, 3, 16, cos, sin, interleaved);
      EXPECT_TRUE(same_bits<float>(got, want)) << variant.name << interleaved;
      EXPECT_FALSE(same_bits<float>(got, q)) << variant.name << interleaved;
    }
}

TEST(RopeSpecial, ANanStaysInItsPair) {
  for (const auto& variant : variants_here(rope_variants())) {
    std::vector<float> x(128, 1.0F), none;
    x[3] = std::nanf("");
    Fixture f(variant.name);
    rope(f.context, x, none, std::vector<std::int64_t>{5}, 128, kTheta, false);
    for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(std::isnan(x[i]), i == 3 || i == 67) << variant.name << i;
  }
}

TEST(RopeTypes, HalfTypesAreRotatedInF32AndRoundedOnce) {
  std::vector<BF16> q16{to_bf16(1.5F), to_bf16(-0.25F)};
  std::vector<F16> k16{to_f16(0.75F), to_f16(2.0F)};
  std::vector<float> q{1.5F, -0.25F}, k{0.75F, 2.0F};
  const std::vector<std::int64_t> pos{11};
  Fixture f;
  rope(f.context, q, k, pos, 2, kTheta, false);
  EXPECT_EQ(rope(f.context, std::span(q16), std::span(k16), pos, 2, kTheta, false).status, kOk);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(q16[i], to_bf16(q[i]));
    EXPECT_EQ(k16[i], to_f16(k[i]));
  }
}

TEST(RopeRefusals, AreStatusesAndChangeNothing) {
  std::vector<float> twelve(12, 1.0F), six(6, 1.0F), none;
  const std::span<float> all(twelve);
  using Positions = std::vector<std::int64_t>;
  const struct {
    std::span<float> q, k;
    Positions pos;
    std::int64_t head_dim;
    double theta;
    std::int64_t status;
  } rows[] = {
      {twelve, six, {1}, 6, kTheta, kOk},
      {none, six, {1}, 6, kTheta, kEmptyDimension},
      {twelve, six, {}, 6, kTheta, kEmptyDimension},
      {twelve, six, {1}, 0, kTheta, kEmptyDimension},
      {twelve, six, {1}, -6, kTheta, kEmptyDimension},
      {twelve, six, {1}, INT64_MIN, kTheta, kEmptyDimension},
      {twelve, six, {1}, kMaxDim + 1, kTheta, kDimensionTooLarge},
      {twelve, six, {1}, INT64_MAX, kTheta, kDimensionTooLarge},
      {twelve, six, {1}, 4, kTheta, kRowLengthMismatch},
      {twelve, six, {1, 2, 3, 4, 5}, 2, kTheta, kRowLengthMismatch},
      {twelve, six, {1, 2}, 6, kTheta, kRowLengthMismatch},
      {twelve, six, {1}, 3, kTheta, kOddHeadDimension},
      {twelve, six, {-1}, 6, kTheta, kPositionOutOfRange},
      {twelve, six, {kMaxDim + 1}, 6, kTheta, kPositionOutOfRange},
      {twelve, six, {1, INT64_MIN, 0}, 2, kTheta, kPositionOutOfRange},
      {all, all.first(6), {1}, 6, kTheta, kOverlappingBuffers},
      {all.first(8), all.last(8), {1}, 2, kTheta, kOverlappingBuffers},
      {twelve, six, {1}, 6, 0.5, kParameterOutOfRange},
      {twelve, six, {1}, 6, std::nan(""), kParameterOutOfRange},
      {twelve, six, {1}, 6, HUGE_VAL, kParameterOutOfRange},
  };
  for (const auto& row : rows) {
    std::fill(twelve.begin(), twelve.end(), 1.0F);
    Fixture f;
    EXPECT_EQ(rope(f.context, row.q, row.k, row.pos, row.head_dim, row.theta, false).status, row.status);
    if (row.status == kOk) continue;
    EXPECT_EQ(twelve, std::vector<float>(12, 1.0F)) << row.status;
  }
}

}  // namespace
}  // namespace krt::decode
