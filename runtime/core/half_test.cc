#include "runtime/core/half.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "runtime/testing/random.h"

namespace krt {
namespace {

// The oracle knows a half type by its two widths only, and works in doubles, which hold every half, every f32 and
// every midpoint of two halves.
template <class H>
struct Format;
template <>
struct Format<F16> {
  static constexpr int kExponentBits = 5, kFractionBits = 10;
  static F16 from(float x) { return to_f16(x); }
};
template <>
struct Format<BF16> {
  static constexpr int kExponentBits = 8, kFractionBits = 7;
  static BF16 from(float x) { return to_bf16(x); }
};

template <class H>
class HalfTest : public ::testing::Test {
 protected:
  using F = Format<H>;
  static constexpr int kBias = (1 << (F::kExponentBits - 1)) - 1;
  static constexpr std::uint32_t kInfinity = ((1U << F::kExponentBits) - 1) << F::kFractionBits;

  // Of non-negative bits below kInfinity; kInfinity itself is what would come next if the exponent went on.
  static double decode(std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> F::kFractionBits);
    const double fraction = std::ldexp(bits & ((1U << F::kFractionBits) - 1), -F::kFractionBits);
    return exponent == 0 ? std::ldexp(fraction, 1 - kBias) : std::ldexp(1 + fraction, exponent - kBias);
  }

  // The nearest half to a finite x >= 0, the even one of two that are as near.
  static std::uint32_t nearest(double x) {
    std::uint32_t low = 0, high = kInfinity;  // decode(low) <= x < decode(high)
    if (x >= decode(high)) return kInfinity;
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (decode(middle) <= x ? low : high) = middle;
    }
    const double below = x - decode(low), above = decode(high) - x;
    return below < above || (below == above && low % 2 == 0) ? low : high;
  }

  static void expect_nearest(float x) {
    const std::uint32_t want = nearest(std::fabs(static_cast<double>(x))) | (std::signbit(x) ? 0x8000U : 0U);
    ASSERT_EQ(F::from(x).bits, want) << x;
  }
};

using Halves = ::testing::Types<F16, BF16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, EveryHalfIsExactInF32AndComesBack) {
  for (std::uint32_t bits = 0; bits < 1U << 16U; ++bits) {
    const TypeParam half{static_cast<std::uint16_t>(bits)};
    const float f = to_f32(half);
    const std::uint32_t magnitude = bits & 0x7FFFU;
    ASSERT_EQ(std::signbit(f), bits > 0x7FFF);
    if (magnitude < this->kInfinity) {
      ASSERT_EQ(std::fabs(static_cast<double>(f)), this->decode(magnitude)) << bits;
    } else if (magnitude == this->kInfinity) {
      ASSERT_TRUE(std::isinf(f));
    } else {
      ASSERT_TRUE(std::isnan(f));
      const std::uint32_t quiet = 1U << (Format<TypeParam>::kFractionBits - 1);
      ASSERT_EQ(Format<TypeParam>::from(f).bits, bits | quiet) << "a NaN keeps its payload and becomes quiet";
      continue;
    }
    ASSERT_EQ(Format<TypeParam>::from(f), half);
  }
}

TYPED_TEST(HalfTest, RoundsToNearestEvenAroundEveryMidpoint) {
  const float inf = std::numeric_limits<float>::infinity();
  for (std::uint32_t bits = 0; bits < this->kInfinity; ++bits) {
    const double low = this->decode(bits), high = this->decode(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    for (const float x : {static_cast<float>(low), std::nextafterf(static_cast<float>(low), inf),
                          std::nextafterf(middle, 0.0F), middle, std::nextafterf(middle, inf)})
      for (const float sign : {1.0F, -1.0F}) this->expect_nearest(x * sign);
  }
}

TYPED_TEST(HalfTest, RoundsRandomF32sToNearestEven) {
  testing::Rng rng(1603);
  SCOPED_TRACE(rng.trace());
  for (int i = 0; i < 1'000'000; ++i) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(rng.engine()()));
    if (std::isfinite(x)) this->expect_nearest(x);
  }
}

TYPED_TEST(HalfTest, Extremes) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto from = Format<TypeParam>::from;
  EXPECT_EQ(from(inf).bits, this->kInfinity);
  EXPECT_EQ(from(-inf).bits, this->kInfinity | 0x8000U);
  EXPECT_EQ(from(0.0F).bits, 0);
  EXPECT_EQ(from(-0.0F).bits, 0x8000);
  this->expect_nearest(std::numeric_limits<float>::max());
  this->expect_nearest(std::numeric_limits<float>::denorm_min());
  this->expect_nearest(std::numeric_limits<float>::min());
  EXPECT_TRUE(std::isnan(to_f32(from(std::numeric_limits<float>::signaling_NaN()))));
  EXPECT_TRUE(std::isnan(to_f32(from(std::bit_cast<float>(0x7F800001U)))));
  EXPECT_TRUE(std::signbit(to_f32(from(std::bit_cast<float>(0xFF800001U)))));
}

}  // namespace
}  // namespace krt
