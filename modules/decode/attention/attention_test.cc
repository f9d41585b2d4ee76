#include "modules/decode/attention/attention.h"

#include <gtest/gtest.h>

#include "modules/decode/attention/attention_oracle.h"
#include "modules/decode/attention/kernels.h"
#include "modules/decode/contract/contract.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::decode {
namespace {

using krt::testing::GuardedBuffer;
using krt::testing::Rng;
using krt::testing::same_bits;
using krt::testing::ValueCheck;

struct Fixture {
  explicit Fixture(std::string_view variant = {}, int threads = 1) : arena(threads) { context.force_variant = variant; }
  Arena arena;
  HandleTable handles;
  Context context{arena, handles};
};

// A cache between two pages that nobody may touch: k and v each.
struct GuardedCache {
  GuardedCache(CacheFormat format, std::size_t kv_heads, std::size_t capacity, std::size_t head_dim)
      : view{format, kv_heads, capacity, head_dim}, k(view.bytes()), v(view.bytes()) {
    view.k = k.data();
    view.v = v.data();
  }
  KvCache view;
  GuardedBuffer<std::byte> k, v;
};

struct Shape {
  std::size_t q_heads, kv_heads, head_dim, filled, rows, capacity, window;
  double softcap;
};
// Single keys, tails of blocks and capacities, every ratio of heads, every head dimension of a real model and odd ones.
constexpr Shape kShapes[] = {
    {1, 1, 1, 0, 1, 1, 0, 0},        {1, 1, 4, 0, 1, 1, 0, 0},        {2, 1, 64, 0, 5, 5, 0, 0},
    {4, 2, 64, 3, 1, 9, 0, 0},       {9, 3, 64, 254, 3, 257, 0, 0},   {8, 8, 80, 255, 1, 256, 0, 0},
    {6, 2, 96, 256, 1, 300, 0, 0},   {16, 8, 128, 511, 2, 513, 0, 0}, {4, 1, 256, 300, 4, 304, 0, 0},
    {7, 1, 128, 100, 11, 111, 0, 0}, {2, 2, 33, 40, 3, 43, 0, 0},     {3, 1, 72, 260, 6, 270, 0, 0},
    {4, 2, 64, 600, 5, 610, 3, 0},   {4, 2, 64, 600, 5, 610, 300, 0}, {4, 2, 128, 0, 70, 70, 16, 0},
    {2, 1, 256, 290, 3, 293, 1, 50}, {8, 4, 64, 200, 66, 266, 0, 30}, {4, 4, 128, 1030, 1, 1031, 1024, 0.5},
    {71, 1, 64, 270, 1, 271, 0, 0},  {8, 2, 48, 10, 40, 50, 2000, 0},
};

std::string name_of_shape(const Shape& s) {
  return std::to_string(s.q_heads) + "x" + std::to_string(s.kv_heads) + "x" + std::to_string(s.head_dim) + "_at_" +
         std::to_string(s.filled) + "_rows_" + std::to_string(s.rows);
}

// Everything one call needs; the values depend on the shape alone.
struct Problem {
  Problem(const Shape& shape, CacheFormat format, std::uint64_t seed = 20270501)
      : shape(shape), cache(format, shape.kv_heads, shape.capacity, shape.head_dim), rng(seed) {
    const std::size_t row = shape.kv_heads * shape.head_dim, keys = shape.filled + shape.rows;
    append(fixture.context, cache.view, 0, rng.normals<float>(keys * row), rng.normals<float>(keys * row));
    q = rng.normals<float>(shape.rows * shape.q_heads * shape.head_dim, 1.5);
  }
  [[nodiscard]] AttentionOptions options() const { return {.window = shape.window, .softcap = shape.softcap}; }
  [[nodiscard]] AttentionQuery query(std::span<float> out) const {
    return {cache.view, shape.filled, shape.rows, q.data(), out.data()};
  }
  std::vector<float> run(std::string_view variant, int threads = 1) {
    Fixture f(variant, threads);
    AttentionWorkspace workspace;
    const GuardedBuffer<float> queries{std::span<const float>(q)};
    GuardedBuffer<float> out(q.size());
    AttentionQuery one = query(out.span());
    one.q = queries.cspan().data();
    attention_rows(f.context, {&one, 1}, shape.q_heads, options(), workspace);
    EXPECT_EQ(f.context.variant, variant);
    return out.copy();
  }

  Shape shape;
  GuardedCache cache;
  Rng rng;
  Fixture fixture{"scalar"};
  std::vector<float> q;
};

::testing::AssertionResult within_bound(const Problem& p, std::span<const float> got, double share = 1) {
  std::vector<float> unused(got.size());
  const AttentionQuery query = p.query(unused);
  const std::size_t d = p.shape.head_dim;
  for (std::size_t i = 0; i < got.size() / d; ++i) {
    const auto want =
        testing::oracle_row(query, p.shape.q_heads, p.options(), i / p.shape.q_heads, i % p.shape.q_heads);
    ::testing::AssertionResult result = krt::testing::all_within<float, double>(
        got.subspan(i * d, d), want.out, [&](std::size_t, double) { return share * want.bound; });
    if (!result) return result << ", row " << i / p.shape.q_heads << " head " << i % p.shape.q_heads;
  }
  return ::testing::AssertionSuccess();
}

class Attention : public ::testing::TestWithParam<Shape> {};

TEST_P(Attention, EveryVariantAndFormatIsWithinTheBound) {
  for (const CacheFormat format : kCacheFormats) {
    Problem p(GetParam(), format);
    SCOPED_TRACE(p.rng.trace());
    for (const auto& variant : variants_here(attention_variants())) {
      ValueCheck check("decode.attention", variant.name);
      EXPECT_TRUE(within_bound(p, p.run(variant.name))) << variant.name << " " << name_of(format);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Attention, ::testing::ValuesIn(kShapes),
                         [](const auto& info) { return std::to_string(info.index) + "_" + name_of_shape(info.param); });

// Rows [n][heads][d] as the function takes them, and its caches as bytes.
struct Rows {
  std::vector<float> q, k, v;
};
Rows random_rows(Rng& rng, std::size_t n, const Shape& s) {
  return {rng.normals<float>(n * s.q_heads * s.head_dim), rng.normals<float>(n * s.kv_heads * s.head_dim),
          rng.normals<float>(n * s.kv_heads * s.head_dim)};
}

TEST(AttentionFunction, AppendsAndAttends) {
  constexpr Shape kShape{4, 2, 64, 0, 7, 9, 0, 0};
  for (const auto& variant : variants_here(attention_variants())) {
    Rng rng(20270502);
    SCOPED_TRACE(rng.trace());
    Fixture f(variant.name);
    const Rows rows = random_rows(rng, kShape.rows, kShape);
    const GuardedCache want(CacheFormat::kQ8_0, kShape.kv_heads, kShape.capacity, kShape.head_dim);
    append(f.context, want.view, 0, rows.k, rows.v);
    std::vector<std::uint8_t> k(want.view.bytes()), v(k.size());
    const std::int64_t pos[] = {0};
    const AttentionResult r =
        attention(f.context, rows.q, rows.k, rows.v, k, v, pos, 2, 64, "q8_0", 0, 0, 0, {}, {}, 1e-6, 0);
    EXPECT_EQ(r.status, kOk);
    EXPECT_TRUE(std::equal(k.begin(), k.end(), reinterpret_cast<const std::uint8_t*>(want.view.k)));
    EXPECT_TRUE(std::equal(v.begin(), v.end(), reinterpret_cast<const std::uint8_t*>(want.view.v)));
    std::vector<float> out(rows.q.size());
    const AttentionQuery query{want.view, 0, kShape.rows, rows.q.data(), out.data()};
    AttentionWorkspace workspace;
    attention_rows(f.context, {&query, 1}, kShape.q_heads, {}, workspace);
    EXPECT_TRUE(same_bits<float>(r.out, out));
  }
}

}  // namespace
}  // namespace krt::decode
