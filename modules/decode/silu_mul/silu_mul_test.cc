#include "modules/decode/silu_mul/silu_mul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "modules/decode/contract/contract.h"
#include "modules/decode/contract/rows.h"
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
using testing::ulp_distance;
using testing::ValueCheck;

constexpr std::int64_t kBound = 5;  // units in the last place
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();

// The oracle: the formula in long double, rounded once. e^-gate overflows to infinity where the quotient is 0.
float oracle(float gate, float up) {
  const long double g = gate;
  return static_cast<float>(g / (1 + std::exp(-g)) * up);
}

std::int64_t worst(std::span<const float> got, std::span<const float> gate, std::span<const float> up) {
  std::int64_t out = 0;
  for (std::size_t i = 0; i < got.size(); ++i) out = std::max(out, ulp_distance(got[i], oracle(gate[i], up[i])));
  return out;
}

struct Fixture {
  explicit Fixture(std::string_view variant = {}, int threads = 1) : arena(threads) { context.force_variant = variant; }
  Arena arena;
  HandleTable handles;
  Context context{arena, handles};
};

TEST(SiluMul, EveryVariantIsWithinTheBoundAtEverySize) {
  Rng rng(20270411);
  SCOPED_TRACE(rng.trace());
  for (const auto& variant : variants_here(silu_mul_variants())) {
    ValueCheck check("decode.silu_mul", variant.name);
    for (const std::size_t n : {1, 2, 3, 7, 15, 16, 17, 31, 63, 65, 1024, 4096, 8192, 151936}) {
      const GuardedBuffer<float> gate(rng.normals<float>(n, 4)), up(rng.normals<float>(n));
      Fixture f(variant.name);
      const SiluMulResult r = silu_mul(f.context, gate.cspan(), up.cspan());
      EXPECT_EQ(r.status, kOk);
      EXPECT_EQ(f.context.variant, variant.name);
      EXPECT_LE(worst(r.out, gate.cspan(), up.cspan()), kBound) << variant.name << ", " << n << " values";
    }
  }
}

// Gates whose e^gate is subnormal or 0 beside values of `up` that bring the product back, overflows and underflows.
TEST(SiluMul, TheBoundHoldsOverTheWholeRange) {
  Rng rng(20270412);
  SCOPED_TRACE(rng.trace());
  std::vector<float> gate, up;
  for (const float u : {1.0F, -kMax, 1e30F, 1e-30F, 1e-44F, 0.0F}) {
    for (int i = 0; i < 20000; ++i) {
      gate.push_back(static_cast<float>(rng.uniform(-200, 120)));
      up.push_back(u);
    }
    for (const float g : {0.0F, -0.0F, -87.0F, -86.99999F, -87.00001F, -87.3366F, -104.0F, -1e30F, 1e38F, kMax}) {
      gate.push_back(g);
      up.push_back(u);
    }
  }
  for (const auto& variant : variants_here(silu_mul_variants())) {
    Fixture f(variant.name);
    const SiluMulResult r = silu_mul(f.context, gate, up);
    EXPECT_LE(worst(r.out, gate, up), kBound) << variant.name;
  }
}

TEST(SiluMul, ControlAnErrorBeyondTheBoundIsNoticed) {
  const std::vector<float> gate{0.7F}, up{1.3F};
  Fixture f;
  std::vector<float> out = silu_mul(f.context, gate, up).out;
  for (std::int64_t i = 0; i < 2 * kBound; ++i) out[0] = std::nextafterf(out[0], kInf);
  EXPECT_GT(worst(out, gate, up), kBound);
}

TEST(SiluMul, BitsDependOnNeitherThreadsNorPlace) {
  Rng rng(20270413);
  SCOPED_TRACE(rng.trace());
  const std::size_t n = kParallelMinValues + 1031;
  std::vector<float> gate = rng.normals<float>(n, 40), up = rng.normals<float>(n);
  for (const auto& variant : variants_here(silu_mul_variants())) {
    Fixture one(variant.name);
    const std::vector<float> want = silu_mul(one.context, gate, up).out;
    for (const int threads : {2, 16}) {
      Fixture f(variant.name, threads);
      EXPECT_TRUE(same_bits<float>(silu_mul(f.context, gate, up).out, want)) << variant.name << threads;
    }
    for (const std::size_t at : {1U, 5U, 1021U}) {
      const auto alone = silu_mul(one.context, std::span(gate).subspan(at, 37), std::span(up).subspan(at, 37)).out;
      EXPECT_TRUE(same_bits<float>(alone, std::span(want).subspan(at, 37))) << variant.name << at;
    }
  }
}

TEST(SiluMul, SpecialValuesFollowTheFormula) {
  const float nan = std::nanf("");
  const std::vector<float> gate{nan, 1, kInf, -kInf, kInf, -1, 0, -100};
  const std::vector<float> up{1, nan, 2, 1, -1, kInf, kInf, -kInf};
  const std::vector<float> want{nan, nan, kInf, nan, -kInf, -kInf, nan, kInf};
  for (const auto& variant : variants_here(silu_mul_variants())) {
    Fixture f(variant.name);
    const std::vector<float> out = silu_mul(f.context, gate, up).out;
    for (std::size_t i = 0; i < gate.size(); ++i)
      EXPECT_EQ(ulp_distance(out[i], want[i]), 0) << variant.name << ": " << gate[i] << ", " << up[i];
  }
}

TEST(SiluMul, HalfTypesAreConvertedAtTheEdge) {
  const std::vector<F16> gate{to_f16(0.5F), to_f16(-2.0F)};
  const std::vector<BF16> up{to_bf16(3.0F), to_bf16(0.25F)};
  Fixture f;
  EXPECT_EQ(silu_mul(f.context, std::span(gate), std::span(up)).out,
            silu_mul(f.context, std::vector<float>{0.5F, -2}, std::vector<float>{3, 0.25F}).out);
}

TEST(SiluMul, RefusalsAreStatuses) {
  const std::vector<float> two(2, 1.0F), three(3, 1.0F), none;
  Fixture f;
  EXPECT_EQ(silu_mul(f.context, none, none).status, kEmptyDimension);
  EXPECT_EQ(silu_mul(f.context, two, none).status, kEmptyDimension);
  EXPECT_EQ(silu_mul(f.context, none, two).status, kEmptyDimension);
  EXPECT_EQ(silu_mul(f.context, two, three).status, kOperandLengthMismatch);
  EXPECT_TRUE(silu_mul(f.context, three, two).out.empty());
}

}  // namespace
}  // namespace krt::decode
