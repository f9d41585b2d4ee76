#include "modules/decode/gelu_mul/gelu_mul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "modules/decode/contract/contract.h"
#include "modules/decode/contract/rows.h"
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

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();

// The formula as it is published, with erfc's relative for the left tail: 1 + tanh(t) = 2 / (1 + e^-2t), in long
// double.
struct Exact {
  long double value, z;
};
Exact exact(float gate, float up) {
  const long double g = gate;
  const long double t = std::sqrt(2 / std::numbers::pi_v<long double>) * (g + 0.044715L * g * g * g);
  return {g * (1 / (1 + std::exp(-2 * t))) * up, 2 * t};
}

// The largest error in units of the bound; the bound is the header's.
double worst(std::span<const float> got, std::span<const float> gate, std::span<const float> up) {
  double out = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Exact want = exact(gate[i], up[i]);
    if (std::fabs(want.value) >= static_cast<long double>(kMax)) {
      if (got[i] != static_cast<float>(want.value)) return HUGE_VAL;
      continue;
    }
    const double bound =
        (8 + 4 * std::max(0.0, static_cast<double>(-want.z))) * 0x1p-24 * std::fabs(static_cast<double>(want.value)) +
        0x1p-149 * (1 + std::fabs(double{up[i]}));
    const double error = std::fabs(static_cast<double>(got[i] - want.value));
    out = std::max(out, std::isnan(error) ? HUGE_VAL : error / bound);
  }
  return out;
}

struct Fixture {
  explicit Fixture(std::string_view variant = {}, int threads = 1) : arena(threads) { context.force_variant = variant; }
  Arena arena;
  HandleTable handles;
  Context context{arena, handles};
};

TEST(GeluMul, EveryVariantIsWithinTheBoundAtEverySize) {
  Rng rng(20270511);
  SCOPED_TRACE(rng.trace());
  for (const auto& variant : variants_here(gelu_mul_variants())) {
    ValueCheck check("decode.gelu_mul", variant.name);
    for (const std::size_t n : {1, 2, 3, 7, 15, 16, 17, 31, 63, 65, 1024, 2048, 6912}) {
      const GuardedBuffer<float> gate(rng.normals<float>(n, 4)), up(rng.normals<float>(n));
      Fixture f(variant.name);
      const GeluMulResult r = gelu_mul(f.context, gate.cspan(), up.cspan());
      EXPECT_EQ(r.status, kOk);
      EXPECT_EQ(f.context.variant, variant.name);
      EXPECT_LE(worst(r.out, gate.cspan(), up.cspan()), 1) << variant.name << ", " << n << " values";
    }
  }
}

// Around the gate from which f64 takes over, products that come back from below the range, overflows and underflows.
TEST(GeluMul, TheBoundHoldsOverTheWholeRange) {
  Rng rng(20270512);
  SCOPED_TRACE(rng.trace());
  std::vector<float> gate, up;
  for (const float u : {1.0F, -kMax, 1e30F, 1e-30F, 1e-44F, 0.0F}) {
    for (int i = 0; i < 20000; ++i) {
      gate.push_back(static_cast<float>(rng.uniform(-25, 15)));
      up.push_back(u);
    }
    for (const float g : {0.0F, -0.0F, -9.98F, -9.979999F, -9.980001F, -10.2F, -1e10F, -kMax, 1e13F, 1e30F, kMax}) {
      gate.push_back(g);
      up.push_back(u);
    }
  }
  for (const auto& variant : variants_here(gelu_mul_variants())) {
    Fixture f(variant.name);
    EXPECT_LE(worst(gelu_mul(f.context, gate, up).out, gate, up), 1) << variant.name;
  }
}

TEST(GeluMul, ControlAnErrorBeyondTheBoundIsNoticed) {
  const std::vector<float> gate{0.7F}, up{1.3F};
  Fixture f;
  std::vector<float> out = gelu_mul(f.context, gate, up).out;
  EXPECT_LE(worst(out, gate, up), 1);
  for (int i = 0; i < 17; ++i) out[0] = std::nextafterf(out[0], kInf);
  EXPECT_GT(worst(out, gate, up), 1);
}

TEST(GeluMul, BitsDependOnNeitherThreadsNorPlace) {
  Rng rng(20270513);
  SCOPED_TRACE(rng.trace());
  const std::size_t n = kParallelMinValues + 1031;
  std::vector<float> gate = rng.normals<float>(n, 6), up = rng.normals<float>(n);
  for (const auto& variant : variants_here(gelu_mul_variants())) {
    Fixture one(variant.name);
    const std::vector<float> want = gelu_mul(one.context, gate, up).out;
    for (const int threads : {2, 16}) {
      Fixture f(variant.name, threads);
      EXPECT_TRUE(same_bits<float>(gelu_mul(f.context, gate, up).out, want)) << variant.name << threads;
    }
    for (const std::size_t at : {1U, 5U, 1021U}) {
      const auto alone = gelu_mul(one.context, std::span(gate).subspan(at, 37), std::span(up).subspan(at, 37)).out;
      EXPECT_TRUE(same_bits<float>(alone, std::span(want).subspan(at, 37))) << variant.name << at;
    }
  }
}

TEST(GeluMul, SpecialValuesFollowTheFormula) {
  const float nan = std::nanf("");
  const std::vector<float> gate{nan, 1, kInf, -kInf, kInf, -1, 0};
  const std::vector<float> up{1, nan, 2, 1, -1, kInf, kInf};
  const std::vector<float> want{nan, nan, kInf, nan, -kInf, -kInf, nan};
  for (const auto& variant : variants_here(gelu_mul_variants())) {
    Fixture f(variant.name);
    const std::vector<float> out = gelu_mul(f.context, gate, up).out;
    for (std::size_t i = 0; i < gate.size(); ++i)
      EXPECT_EQ(testing::ulp_distance(out[i], want[i]), 0) << variant.name << ": " << gate[i] << ", " << up[i];
  }
}

TEST(GeluMul, RefusalsAreStatuses) {
  const std::vector<float> two(2, 1.0F), three(3, 1.0F), none;
  Fixture f;
  EXPECT_EQ(gelu_mul(f.context, none, two).status, kEmptyDimension);
  EXPECT_EQ(gelu_mul(f.context, two, none).status, kEmptyDimension);
  EXPECT_EQ(gelu_mul(f.context, two, three).status, kOperandLengthMismatch);
  EXPECT_TRUE(gelu_mul(f.context, three, two).out.empty());
}

}  // namespace
}  // namespace krt::decode
