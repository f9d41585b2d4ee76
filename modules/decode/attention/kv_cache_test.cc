#include "modules/decode/attention/kv_cache.h"

#include <gtest/gtest.h>

#include <cstring>

#include "modules/decode/attention/attention_testing.h"
#include "runtime/core/half.h"

namespace krt::decode {
namespace {

using testing::Fixture;
using testing::GuardedCache;
using testing::Rng;

TEST(KvCacheRows, EveryVariantWritesTheSameBits) {
  Rng rng(20270507);
  SCOPED_TRACE(rng.trace());
  std::vector<float> x = rng.normals<float>(4096);
  const float odd[] = {0.0F, -0.0F, 1e-8F, -6e-8F, 3e-5F, 65504.0F, 65519.9F, 65520.0F, -1e30F, 1e-40F, 2.5F, 8e6F};
  std::copy(std::begin(odd), std::end(odd), x.begin());
  x[500] = std::nanf("");
  x[600] = -HUGE_VALF;
  x[700] = 3e38F;
  std::fill(x.begin() + 800, x.begin() + 840, 0.0F);
  std::fill(x.begin() + 864, x.begin() + 896, 1e-39F);
  for (const std::size_t d : {std::size_t{1}, std::size_t{31}, std::size_t{64}, std::size_t{100}, std::size_t{4096}})
    for (const CacheFormat format : kCacheFormats) {
      const std::size_t rows = x.size() / d;
      const std::span<const float> values = std::span(x).first(rows * d);
      const GuardedCache want(format, 1, rows, d);
      Fixture plain("scalar");
      append(plain.context, want.view, 0, values, values);
      for (const auto& variant : variants_here(attention_variants())) {
        GuardedCache got(format, 1, rows, d);
        Fixture f(variant.name, 2);
        append(f.context, got.view, 0, values, values);
        EXPECT_EQ(std::memcmp(got.view.k, want.view.k, want.view.bytes()), 0) << variant.name << name_of(format) << d;
        EXPECT_EQ(std::memcmp(got.view.v, want.view.v, want.view.bytes()), 0) << variant.name << name_of(format) << d;
      }
    }
}

// Reading back, by the formats' own decoders: half types as half.h rounds them, q8_0 within half a step and its scale's
// rounding; a block with a NaN or an infinity is NaN.
TEST(KvCacheRows, HoldWhatWasWritten) {
  Rng rng(20270508);
  SCOPED_TRACE(rng.trace());
  constexpr std::size_t kDim = 80;
  std::vector<float> x = rng.normals<float>(3 * 2 * kDim);
  x[4] = std::nanf("");
  for (const CacheFormat format : kCacheFormats) {
    const GuardedCache cache(format, 2, 5, kDim);
    Fixture f;
    append(f.context, cache.view, 2, x, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t row = i / kDim / 2, head = i / kDim % 2, c = i % kDim;
      const double got = testing::cached_rows(cache.view, cache.view.k, head, 5)[(row + 2) * kDim + c];
      const std::size_t block = i / kDim * kDim + c / 32 * 32, n = std::min<std::size_t>(32, kDim - c / 32 * 32);
      const bool spoiled = format == CacheFormat::kQ8_0 ? block == 0 : i == 4;
      if (spoiled) {
        EXPECT_TRUE(std::isnan(got)) << name_of(format) << i;
        continue;
      }
      double largest = 0;
      for (std::size_t j = block; j < block + n; ++j) largest = std::max(largest, std::fabs(double{x[j]}));
      const double want = format == CacheFormat::kF16    ? to_f32(to_f16(x[i]))
                          : format == CacheFormat::kBF16 ? to_f32(to_bf16(x[i]))
                                                         : x[i];
      EXPECT_NEAR(got, want, format == CacheFormat::kQ8_0 ? largest * (0.5 / 127 + 0x1p-11) : 0) << name_of(format);
    }
  }
}

TEST(KvCacheNames, AreTotal) {
  for (const CacheFormat format : kCacheFormats) EXPECT_EQ(cache_format_named(name_of(format)), format);
  EXPECT_EQ(cache_format_named("q4_0"), std::nullopt);
  EXPECT_EQ(cache_row_bytes(CacheFormat::kQ8_0, 80), 102U);
  const OwnedKvCache owned(CacheFormat::kBF16, 2, 10, 64);
  EXPECT_EQ(owned.view().bytes(), 2U * 10 * 64 * 2);
  EXPECT_EQ(owned.view().v - owned.view().k, 2560);
}

}  // namespace
}  // namespace krt::decode
