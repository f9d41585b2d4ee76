// ExpMinus, OnePlusExpMinus and for_each, in every form that was compiled and that this machine runs.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/simd/exp_test.cc"
#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"
#include "runtime/simd/exp-inl.h"
#include "runtime/simd/for_each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace krt::simd::HWY_NAMESPACE {

void exp_all(const float* x, std::size_t n, float* out) {
  for_each(n, [&](auto d, std::size_t i) HWY_ATTR { hn::StoreU(ExpMinus(d, hn::LoadU(d, x + i)), d, out + i); });
}

void one_plus_all(const float* x, std::size_t n, float* out) {
  for_each(n, [&](auto d, std::size_t i) HWY_ATTR { hn::StoreU(OnePlusExpMinus(d, hn::LoadU(d, x + i)), d, out + i); });
}

}  // namespace krt::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/dispatch/variant.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/tolerance.h"

namespace krt::simd {
namespace {

using ExpAll = void(const float* x, std::size_t n, float* out);
constexpr float kMost = 0x1.5d589ep6F;
constexpr float kInf = std::numeric_limits<float>::infinity();

void exp_plain(const float* x, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = x[i] > kMost ? 0 : static_cast<float>(std::exp(-double{x[i]}));
}

std::vector<Variant<ExpAll>> forms() {
  return variants_here(simd_variants<ExpAll>(KRT_SIMD_FORMS(exp_all), exp_plain));
}

std::int64_t worst_distance(ExpAll* form, std::span<const float> x) {
  std::vector<float> out(x.size());
  form(x.data(), x.size(), out.data());
  std::int64_t worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto want = static_cast<float>(std::exp(-double{x[i]}));
    worst = std::max(worst, testing::ulp_distance(out[i], want));
  }
  return worst;
}

TEST(Exp, WithinOneUnitOverTheWholeDomain) {
  std::vector<float> x;
  // Every 997th float from 0 to the largest: a prime, so that no bit pattern is favoured.
  for (std::uint32_t bits = 0; bits <= std::bit_cast<std::uint32_t>(kMost); bits += 997)
    x.push_back(std::bit_cast<float>(bits));
  x.push_back(kMost);
  for (const auto& form : forms()) EXPECT_LE(worst_distance(form.run, x), 1) << form.name;
}

// On both sides of 0, and 1 exactly from where e^-x does not change it.
TEST(OnePlusExp, WithinOneUnitFromTheLowestOn) {
  const auto plain = +[](const float* x, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(1 + std::exp(-double{x[i]}));
  };
  std::vector<float> x{1e30F, kInf};
  for (std::uint32_t bits = 0; bits <= std::bit_cast<std::uint32_t>(kMost); bits += 997) {
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-x.back());
  }
  std::vector<float> want(x.size()), out(x.size());
  plain(x.data(), x.size(), want.data());
  for (const auto& form : variants_here(simd_variants<ExpAll>(KRT_SIMD_FORMS(one_plus_all), plain))) {
    form.run(x.data(), x.size(), out.data());
    std::int64_t worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, testing::ulp_distance(out[i], want[i]));
    EXPECT_LE(worst, 1) << form.name;
    EXPECT_EQ(out[0], 1) << form.name;
    EXPECT_EQ(out[1], 1) << form.name;
  }
}

TEST(Exp, ExactAtTheEnds) {
  const std::vector<float> x{0.0F, -0.0F, std::nextafterf(kMost, kInf), 88.0F, 1e30F, kInf, std::nanf("")};
  const std::vector<float> want{1, 1, 0, 0, 0, 0, std::nanf("")};
  for (const auto& form : forms()) {
    std::vector<float> out(x.size());
    form.run(x.data(), x.size(), out.data());
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(testing::ulp_distance(out[i], want[i]), 0) << form.name << " of " << x[i];
  }
}

TEST(ForEach, TouchesEveryElementOnceWithTheSameBitsWhereverItStands) {
  for (const auto& form : forms()) {
    for (std::size_t n = 0; n <= 67; ++n) {
      testing::GuardedBuffer<float> x(n), out(n);
      for (std::size_t i = 0; i < n; ++i) x.span()[i] = 0.37F * static_cast<float>(i);
      form.run(x.data(), n, out.data());
      for (std::size_t i = 0; i < n; ++i) {
        float alone = -1;
        form.run(x.data() + i, 1, &alone);
        EXPECT_EQ(out.span()[i], alone) << form.name << ", element " << i << " of " << n;
      }
    }
  }
}

TEST(Exp, ControlAWrongBitIsNoticed) {
  EXPECT_GT(worst_distance(
                +[](const float* x, std::size_t n, float* out) {
                  exp_plain(x, n, out);
                  out[0] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(out[0]) + 2);
                },
                std::vector<float>{1.0F}),
            1);
}

}  // namespace
}  // namespace krt::simd
#endif  // HWY_ONCE
