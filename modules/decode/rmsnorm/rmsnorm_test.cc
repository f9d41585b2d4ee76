#include "modules/decode/rmsnorm/rmsnorm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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

constexpr double kUnit = 0x1p-24;  // of f32 rounding
constexpr double kBound = 4 * kUnit;
constexpr float kInf = std::numeric_limits<float>::infinity();

// The oracle: the formula in long double, not rounded to f32.
std::vector<double> oracle(std::span<const float> x, std::span<const float> weight, double eps) {
  std::vector<double> out(x.size());
  const std::size_t d = weight.size();
  for (std::size_t row = 0; row < x.size(); row += d) {
    long double sum = 0;
    for (std::size_t i = 0; i < d; ++i) sum += static_cast<long double>(x[row + i]) * x[row + i];
    const long double rms = std::sqrt(sum / static_cast<long double>(d) + static_cast<long double>(eps));
    for (std::size_t i = 0; i < d; ++i)
      out[row + i] = static_cast<double>(static_cast<long double>(x[row + i]) / rms * weight[i]);
  }
  return out;
}

std::vector<double> bound_of(std::span<const double> want, std::span<const float> weight) {
  std::vector<double> out(want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    out[i] = kBound * std::fabs(want[i]) + 0x1p-149 * (1 + std::fabs(double{weight[i % weight.size()]}));
  return out;
}

::testing::AssertionResult within_bound(std::span<const float> got, std::span<const float> x,
                                        std::span<const float> weight, double eps) {
  const std::vector<double> want = oracle(x, weight, eps);
  const std::vector<double> bound = bound_of(want, weight);
  return testing::all_within<float, double>(got, want, [&](std::size_t i, double) { return bound[i]; });
}

struct Fixture {
  explicit Fixture(std::string_view variant = {}, int threads = 1) : arena(threads) { context.force_variant = variant; }
  Arena arena;
  HandleTable handles;
  Context context{arena, handles};
};

struct Row {
  std::size_t rows, d;
  double scale, eps;
};
// One value, tails around every vector length, real widths, and the ends of f32.
constexpr Row kRows[] = {
    {1, 1, 1, 1e-6},   {3, 2, 1, 1e-6},    {2, 3, 1, 0},         {5, 7, 1, 1e-6},        {4, 15, 1, 1e-5},
    {3, 16, 1, 1e-6},  {3, 17, 1, 1e-6},   {2, 31, 1, 1e-6},     {2, 63, 1, 1e-6},       {2, 65, 1, 1e-6},
    {1, 576, 1, 1e-5}, {2, 1024, 1, 1e-6}, {1, 4096, 1, 1e-6},   {1, 8192, 1, 1e-6},     {1, 151936, 1, 1e-6},
    {2, 100, 1e30, 0}, {2, 100, 1e-30, 0}, {2, 100, 1e38, 1e-6}, {2, 100, 1e-40, 1e-12}, {16, 4096, 3, 1e-6},
};

class RmsNorm : public ::testing::TestWithParam<Row> {};

TEST_P(RmsNorm, EveryVariantIsWithinTheBound) {
  const Row& row = GetParam();
  Rng rng(20270401);
  SCOPED_TRACE(rng.trace());
  const GuardedBuffer<float> x(rng.normals<float>(row.rows * row.d, row.scale));
  const GuardedBuffer<float> weight(rng.normals<float>(row.d));
  for (const auto& variant : variants_here(rmsnorm_variants())) {
    ValueCheck check("decode.rmsnorm", variant.name);
    Fixture f(variant.name);
    const RmsNormResult r = rmsnorm(f.context, x.cspan(), weight.cspan(), row.eps);
    EXPECT_EQ(r.status, kOk);
    EXPECT_EQ(f.context.variant, variant.name);
    EXPECT_TRUE(within_bound(r.out, x.cspan(), weight.cspan(), row.eps)) << variant.name;
  }
}

TEST_P(RmsNorm, EveryVariantAddsAndNormalises) {
  const Row& row = GetParam();
  Rng rng(20270402);
  SCOPED_TRACE(rng.trace());
  const std::size_t n = row.rows * row.d;
  const std::vector<float> before = rng.normals<float>(n, row.scale / 2);
  const GuardedBuffer<float> x(rng.normals<float>(n, row.scale / 2));
  const GuardedBuffer<float> weight(rng.normals<float>(row.d));
  std::vector<float> sum(n);
  for (std::size_t i = 0; i < n; ++i) sum[i] = static_cast<float>(double{before[i]} + double{x.cspan()[i]});
  for (const auto& variant : variants_here(rmsnorm_variants())) {
    ValueCheck check("decode.add_rmsnorm", variant.name);
    Fixture f(variant.name);
    GuardedBuffer<float> residual{std::span<const float>(before)};
    const RmsNormResult r = add_rmsnorm(f.context, residual.span(), x.cspan(), weight.cspan(), row.eps);
    EXPECT_EQ(r.status, kOk);
    EXPECT_TRUE(same_bits<float>(residual.cspan(), sum)) << variant.name;
    EXPECT_TRUE(within_bound(r.out, sum, weight.cspan(), row.eps)) << variant.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RmsNorm, ::testing::ValuesIn(kRows), [](const auto& info) {
  return std::to_string(info.index) + "_" + std::to_string(info.param.rows) + "x" + std::to_string(info.param.d);
});

// A constant row is where a sum in f32 drifts: every addition rounds the same way.
TEST(RmsNormBound, HoldsForAConstantRow) {
  const std::vector<float> x(65536, 1.0001F), weight(65536, 1);
  for (const auto& variant : variants_here(rmsnorm_variants())) {
    Fixture f(variant.name);
    EXPECT_TRUE(within_bound(rmsnorm(f.context, x, weight, 0).out, x, weight, 0)) << variant.name;
  }
}

TEST(RmsNormBound, ControlAnErrorBeyondTheBoundIsNoticed) {
  Rng rng(20270403);
  SCOPED_TRACE(rng.trace());
  const std::vector<float> x = rng.normals<float>(100), weight = rng.normals<float>(100);
  Fixture f;
  std::vector<float> out = rmsnorm(f.context, x, weight, 1e-6).out;
  EXPECT_TRUE(within_bound(out, x, weight, 1e-6));
  for (int i = 0; i < 8; ++i) out[50] = std::nextafterf(out[50], kInf);
  EXPECT_FALSE(within_bound(out, x, weight, 1e-6));
}

TEST(RmsNormBits, DependOnNeitherThreadsNorBatch) {
  Rng rng(20270404);
  SCOPED_TRACE(rng.trace());
  constexpr std::size_t kWidth = 1031;
  constexpr std::size_t kCount = 67;  // above kParallelMinValues
  const std::vector<float> x = rng.normals<float>(kCount * kWidth), weight = rng.normals<float>(kWidth);
  for (const auto& variant : variants_here(rmsnorm_variants())) {
    Fixture one(variant.name);
    const std::vector<float> want = rmsnorm(one.context, x, weight, 1e-6).out;
    for (const int threads : {2, 16}) {
      Fixture f(variant.name, threads);
      EXPECT_TRUE(same_bits<float>(rmsnorm(f.context, x, weight, 1e-6).out, want)) << variant.name << threads;
    }
    for (const std::size_t row : {std::size_t{0}, kCount - 1}) {
      const auto alone = rmsnorm(one.context, std::span(x).subspan(row * kWidth, kWidth), weight, 1e-6).out;
      EXPECT_TRUE(same_bits<float>(alone, std::span(want).subspan(row * kWidth, kWidth))) << variant.name;
    }
  }
}

TEST(RmsNormSpecial, NanInfinityAndZeroRows) {
  const std::vector<float> weight(20, 2.0F);
  std::vector<float> x(60, 1.0F);
  x[7] = std::nanf("");
  x[27] = -kInf;
  std::fill(x.begin() + 40, x.end(), 0.0F);
  for (const auto& variant : variants_here(rmsnorm_variants())) {
    Fixture f(variant.name);
    const std::vector<float> out = rmsnorm(f.context, x, weight, 0).out;
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_TRUE(std::isnan(out[i])) << variant.name;
      EXPECT_TRUE(i == 7 ? std::isnan(out[20 + i]) : out[20 + i] == 0) << variant.name;
      EXPECT_TRUE(std::isnan(out[40 + i])) << variant.name;
    }
    EXPECT_EQ(rmsnorm(f.context, std::vector<float>(20, 0.0F), weight, 1e-6).out, std::vector<float>(20, 0.0F));
  }
}

TEST(RmsNormTypes, HalfTypesAreConvertedAtTheEdge) {
  Rng rng(20270405);
  SCOPED_TRACE(rng.trace());
  std::vector<F16> x16(100);
  std::vector<BF16> residual16(100);
  std::vector<float> x(100), residual(100);
  for (std::size_t i = 0; i < 100; ++i) {
    x16[i] = to_f16(static_cast<float>(rng.normal()));
    residual16[i] = to_bf16(static_cast<float>(rng.normal()));
    x[i] = to_f32(x16[i]);
    residual[i] = to_f32(residual16[i]);
  }
  const std::vector<float> weight = rng.normals<float>(50);
  Fixture f;
  const std::vector<float> want = rmsnorm(f.context, x, weight, 1e-6).out;
  EXPECT_TRUE(same_bits<float>(rmsnorm(f.context, std::span<const F16>(x16), weight, 1e-6).out, want));

  const std::vector<float> want_added = add_rmsnorm(f.context, residual, x, weight, 1e-6).out;
  const RmsNormResult r = add_rmsnorm(f.context, std::span<BF16>(residual16), std::span<const F16>(x16), weight, 1e-6);
  EXPECT_TRUE(same_bits<float>(r.out, want_added));
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(residual16[i], to_bf16(residual[i]));
}

TEST(RmsNormRefusals, AreStatuses) {
  std::vector<float> six(6, 1.0F), other(6, 1.0F), two(2, 1.0F), none;
  const std::vector<float> huge(static_cast<std::size_t>(kMaxDim) + 1);
  const std::span<float> all(six);
  const struct {
    std::span<float> residual;
    std::span<const float> x, weight;
    double eps;
    std::int64_t norm, added;
  } rows[] = {
      {six, other, two, 1e-6, kOk, kOk},
      {six, none, two, 1e-6, kEmptyDimension, kEmptyDimension},
      {six, other, none, 1e-6, kEmptyDimension, kEmptyDimension},
      {none, none, none, -1, kEmptyDimension, kEmptyDimension},
      {six, huge, huge, 1e-6, kDimensionTooLarge, kDimensionTooLarge},
      {six, other, std::span(other).first(4), 1e-6, kRowLengthMismatch, kRowLengthMismatch},
      {six, two, other, 1e-6, kRowLengthMismatch, kRowLengthMismatch},
      {two, other, std::span(other).first(3), 1e-6, kOk, kOperandLengthMismatch},
      {six, six, two, 1e-6, kOk, kOverlappingBuffers},
      {all.first(3), all.subspan(2, 3), std::span(other).first(3), 1e-6, kOk, kOverlappingBuffers},
      {six, other, all.first(2), 1e-6, kOk, kOverlappingBuffers},
      {six, other, two, -1e-6, kParameterOutOfRange, kParameterOutOfRange},
      {six, other, two, std::nan(""), kParameterOutOfRange, kParameterOutOfRange},
      {six, other, two, HUGE_VAL, kParameterOutOfRange, kParameterOutOfRange},
  };
  for (const auto& row : rows) {
    Fixture f;
    const RmsNormResult norm = rmsnorm(f.context, row.x, row.weight, row.eps);
    EXPECT_EQ(norm.status, row.norm);
    EXPECT_EQ(norm.out.empty(), row.norm != kOk);
    const std::vector<float> before(row.residual.begin(), row.residual.end());
    const RmsNormResult added = add_rmsnorm(f.context, row.residual, row.x, row.weight, row.eps);
    EXPECT_EQ(added.status, row.added);
    EXPECT_EQ(added.out.empty(), row.added != kOk);
    EXPECT_EQ(!same_bits<float>(row.residual, before), row.added == kOk) << "a refusal changes nothing";
    std::copy(before.begin(), before.end(), row.residual.begin());
  }
}

}  // namespace
}  // namespace krt::decode
