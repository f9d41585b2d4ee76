#pragma once
// What the tests of attention share: caches between forbidden pages, and one call with all it needs.

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "modules/decode/attention/attention_oracle.h"
#include "modules/decode/attention/kernels.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"

namespace krt::decode::testing {

using krt::testing::GuardedBuffer;
using krt::testing::Rng;
using krt::testing::same_bits;

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

// `rows` query rows behind `filled` cached ones.
struct Shape {
  std::size_t q_heads, kv_heads, head_dim, filled, rows, capacity, window;
  double softcap;
};

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
  [[nodiscard]] std::vector<OracleRow> oracle() const {
    std::vector<float> unused(q.size());
    return testing::oracle(query(unused), shape.q_heads, options());
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

// Rows [n][heads][d].
struct Rows {
  std::vector<float> q, k, v;
};
inline Rows random_rows(Rng& rng, std::size_t n, const Shape& s) {
  return {rng.normals<float>(n * s.q_heads * s.head_dim), rng.normals<float>(n * s.kv_heads * s.head_dim),
          rng.normals<float>(n * s.kv_heads * s.head_dim)};
}

// The same rows in chunks, each appended when it comes.
inline std::vector<float> in_chunks(std::string_view variant, int threads, CacheFormat format, const Shape& s,
                                    const Rows& rows, std::size_t chunk) {
  Fixture f(variant, threads);
  const GuardedCache cache(format, s.kv_heads, s.capacity, s.head_dim);
  const std::size_t q_width = s.q_heads * s.head_dim, width = s.kv_heads * s.head_dim;
  std::vector<float> out(rows.q.size());
  AttentionWorkspace workspace;
  for (std::size_t at = 0; at < s.rows; at += chunk) {
    const std::size_t n = std::min(chunk, s.rows - at);
    append(f.context, cache.view, at, std::span(rows.k).subspan(at * width, n * width),
           std::span(rows.v).subspan(at * width, n * width));
    const AttentionQuery query{cache.view, at, n, &rows.q[at * q_width], &out[at * q_width]};
    attention_rows(f.context, {&query, 1}, s.q_heads, {.window = s.window, .softcap = s.softcap}, workspace);
  }
  return out;
}

}  // namespace krt::decode::testing
