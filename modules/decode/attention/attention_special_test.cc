// Masked keys, NaN and infinities.

#include <gtest/gtest.h>

#include <cstring>

#include "modules/decode/attention/attention_testing.h"

namespace krt::decode {
namespace {

using testing::in_chunks;
using testing::Problem;
using testing::random_rows;
using testing::Rng;
using testing::Rows;
using testing::same_bits;
using testing::Shape;

// Rows that no query may see hold NaN: those before the window and those behind the last position.
TEST(AttentionSpecial, MaskedKeysAreNeverRead) {
  constexpr Shape kShape{4, 2, 64, 520, 5, 560, 7, 0};
  for (const CacheFormat format : kCacheFormats)
    for (const auto& variant : variants_here(attention_variants())) {
      Problem p(kShape, format);
      const std::vector<float> want = p.run(variant.name);
      const std::size_t head = p.cache.view.head_bytes(), row = p.cache.view.row_bytes();
      for (std::size_t h = 0; h < kShape.kv_heads; ++h)
        for (std::byte* const buffer : {p.cache.view.k + h * head, p.cache.view.v + h * head}) {
          const std::size_t first = kShape.filled + 1 - kShape.window, end = kShape.filled + kShape.rows;
          std::memset(buffer, 0xFF, first * row);
          std::memset(buffer + end * row, 0xFF, head - end * row);
        }
      EXPECT_TRUE(same_bits<float>(p.run(variant.name), want)) << variant.name << " " << name_of(format);
    }
}

// In one call of many rows a later key is there already; an earlier row must not see it.
TEST(AttentionSpecial, ALaterKeyOfTheSameCallIsNotSeen) {
  constexpr Shape kShape{4, 2, 64, 0, 40, 40, 0, 0};
  for (const auto& variant : variants_here(attention_variants())) {
    Rng rng(20270506);
    SCOPED_TRACE(rng.trace());
    Rows rows = random_rows(rng, kShape.rows, kShape);
    const auto want = in_chunks(variant.name, 1, CacheFormat::kF16, kShape, rows, 40);
    const std::size_t width = kShape.kv_heads * kShape.head_dim, q_width = kShape.q_heads * kShape.head_dim;
    std::fill(rows.k.begin() + 21 * width, rows.k.end(), std::nanf(""));
    std::fill(rows.v.begin() + 21 * width, rows.v.end(), std::nanf(""));
    const auto got = in_chunks(variant.name, 1, CacheFormat::kF16, kShape, rows, 40);
    EXPECT_TRUE(same_bits<float>(std::span(got).first(21 * q_width), std::span(want).first(21 * q_width)))
        << variant.name;
    EXPECT_TRUE(std::all_of(got.begin() + 21 * static_cast<std::ptrdiff_t>(q_width), got.end(),
                            [](float x) { return std::isnan(x); }));
  }
}

TEST(AttentionSpecial, NanAndInfinities) {
  constexpr Shape kShape{2, 1, 64, 30, 1, 31, 0, 0};
  const auto nan = [](std::span<const float> x) {
    return std::count_if(x.begin(), x.end(), [](float v) { return std::isnan(v); });
  };
  for (const auto& variant : variants_here(attention_variants())) {
    Problem p(kShape, CacheFormat::kF32);
    const std::vector<float> q = p.q;
    float* const k = reinterpret_cast<float*>(p.cache.view.k);
    float* const v = reinterpret_cast<float*>(p.cache.view.v);
    p.q[70] = std::nanf("");  // of the second head
    std::vector<float> out = p.run(variant.name);
    EXPECT_EQ(nan(std::span(out).first(64)), 0) << variant.name;
    EXPECT_EQ(nan(std::span(out).last(64)), 64) << variant.name;
    p.q = q;
    v[5 * 64 + 3] = std::nanf("");
    out = p.run(variant.name);
    EXPECT_EQ(nan(out), 2) << variant.name;
    EXPECT_TRUE(std::isnan(out[3]) && std::isnan(out[67])) << variant.name;
    v[5 * 64 + 3] = 0;
    k[7 * 64] = HUGE_VALF;  // a score of an infinity, of the sign of the query's value
    p.q[0] = 1;
    p.q[64] = -1;
    out = p.run(variant.name);
    EXPECT_EQ(nan(std::span(out).first(64)), 64) << variant.name;
    EXPECT_EQ(nan(std::span(out).last(64)), 0) << variant.name;
    k[7 * 64] = std::nanf("");
    EXPECT_EQ(nan(p.run(variant.name)), 128) << variant.name;
    for (std::size_t key = 0; key < 31; ++key) k[key * 64] = HUGE_VALF;
    out = p.run(variant.name);
    EXPECT_EQ(std::vector<float>(out.begin() + 64, out.end()), std::vector<float>(64, 0.0F)) << variant.name;
  }
}

}  // namespace
}  // namespace krt::decode
