// decode.attention as it is called by name: the caches' growth, norms and rotation, batches, refusals.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "modules/decode/attention/attention_testing.h"
#include "modules/decode/contract/contract.h"
#include "modules/decode/rmsnorm/rmsnorm.h"
#include "modules/decode/rope/rope.h"
#include "runtime/core/half.h"

namespace krt::decode {
namespace {

using testing::Fixture;
using testing::GuardedCache;
using testing::random_rows;
using testing::Rng;
using testing::Rows;
using testing::same_bits;
using testing::Shape;

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

// What a call takes; every field as it may be given by name.
struct Arguments {
  std::vector<float> q, k, v;
  std::vector<std::uint8_t> k_cache, v_cache;
  std::vector<std::int64_t> pos;
  std::int64_t kv_heads = 2, head_dim = 8;
  std::string_view format = "f32";
  double scale = 0;
  std::int64_t window = 0;
  double softcap = 0;
  std::optional<std::span<const float>> q_norm = {}, k_norm = {};
  double eps = 1e-6, rope_theta = 0;

  AttentionResult run(Context& context) {
    return attention(context, q, k, v, k_cache, v_cache, pos, kv_heads, head_dim, format, scale, window, softcap,
                     q_norm, k_norm, eps, rope_theta);
  }
};

// `rows` rows for each of `sequences` with 4 heads, and room for 6 positions.
Arguments arguments(Rng& rng, std::size_t rows, std::size_t sequences = 1) {
  constexpr Shape kShape{4, 2, 8, 0, 0, 6, 0, 0};
  const Rows r = random_rows(rng, rows * sequences, kShape);
  const std::size_t bytes = sequences * 2 * 6 * 8 * sizeof(float);
  return {r.q,
          r.k,
          r.v,
          std::vector<std::uint8_t>(bytes),
          std::vector<std::uint8_t>(bytes),
          std::vector<std::int64_t>(sequences)};
}

template <class T>
std::span<const T> nth(const std::vector<T>& all, std::size_t i, std::size_t of) {
  return std::span(all).subspan(i * (all.size() / of), all.size() / of);
}

TEST(AttentionFunction, SequencesOfABatchAreAsAlone) {
  Rng rng(20270509);
  SCOPED_TRACE(rng.trace());
  for (const auto& variant : variants_here(attention_variants())) {
    Fixture f(variant.name, 2);
    Arguments all = arguments(rng, 2, 3);
    const std::vector<float> cached = rng.normals<float>(all.k_cache.size() / sizeof(float));
    std::memcpy(all.k_cache.data(), cached.data(), all.k_cache.size());
    std::memcpy(all.v_cache.data(), cached.data(), all.v_cache.size());
    all.pos = {4, 0, 1};
    const Arguments before = all;
    const AttentionResult r = all.run(f.context);
    ASSERT_EQ(r.status, kOk);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto copy = [&](const auto& list) {
        const auto part = nth(list, i, 3);
        return std::vector(part.begin(), part.end());
      };
      Arguments one{copy(before.q),       copy(before.k),       copy(before.v),
                    copy(before.k_cache), copy(before.v_cache), {before.pos[i]}};
      const AttentionResult alone = one.run(f.context);
      EXPECT_TRUE(same_bits<float>(alone.out, nth(r.out, i, 3))) << variant.name << i;
      EXPECT_EQ(one.k_cache, copy(all.k_cache));
      EXPECT_EQ(one.v_cache, copy(all.v_cache));
    }
  }
}

// The norms and the rotation are decode.rmsnorm's and decode.rope's, in this order.
TEST(AttentionFunction, NormsAndRotates) {
  Rng rng(20270510);
  SCOPED_TRACE(rng.trace());
  const std::vector<float> q_norm = rng.normals<float>(8), k_norm = rng.normals<float>(8);
  Fixture f;
  Arguments whole = arguments(rng, 3);
  whole.pos = {2};
  Arguments steps = whole;
  whole.q_norm = q_norm;
  whole.k_norm = k_norm;
  whole.rope_theta = 10000;
  const AttentionResult got = whole.run(f.context);
  steps.q = rmsnorm(f.context, steps.q, q_norm, 1e-6).out;
  steps.k = rmsnorm(f.context, steps.k, k_norm, 1e-6).out;
  const std::int64_t pos[] = {2, 3, 4};
  ASSERT_EQ(rope(f.context, std::span(steps.q), std::span(steps.k), pos, 8, 10000, false).status, kOk);
  const AttentionResult want = steps.run(f.context);
  ASSERT_EQ(want.status, kOk);
  EXPECT_TRUE(same_bits<float>(got.out, want.out));
  EXPECT_EQ(whole.k_cache, steps.k_cache);
  EXPECT_EQ(whole.v_cache, steps.v_cache);
}

TEST(AttentionFunction, HalfTypesAreConvertedAtTheEdge) {
  Rng rng(20270511);
  SCOPED_TRACE(rng.trace());
  Fixture f;
  Arguments a = arguments(rng, 2);
  std::vector<F16> q;
  std::vector<BF16> k;
  for (float& x : a.q) x = to_f32(q.emplace_back(to_f16(x)));
  for (float& x : a.k) x = to_f32(k.emplace_back(to_bf16(x)));
  Arguments half = a;
  const AttentionResult want = a.run(f.context);
  const AttentionResult got = attention(f.context, std::span<const F16>(q), std::span<const BF16>(k), half.v,
                                        half.k_cache, half.v_cache, half.pos, 2, 8, "f32", 0, 0, 0, {}, {}, 1e-6, 0);
  EXPECT_EQ(got.status, kOk);
  EXPECT_TRUE(same_bits<float>(got.out, want.out));
  EXPECT_EQ(half.k_cache, a.k_cache);
}

TEST(AttentionFunction, RefusalsAreStatuses) {
  Rng rng(20270512);
  SCOPED_TRACE(rng.trace());
  const std::vector<float> seven(7, 1.0F), eight(8, 1.0F);
  const auto drop = [](auto& list, std::size_t n) { list.resize(list.size() - n); };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  using Change = std::function<void(Arguments&)>;
  const std::pair<Change, std::int64_t> rows[] = {
      {[](Arguments&) {}, kOk},
      {[&](Arguments& a) { a.q_norm = a.k_norm = eight; }, kOk},
      {[](Arguments& a) { a.q.clear(); }, kEmptyDimension},
      {[](Arguments& a) { a.k.clear(); }, kEmptyDimension},
      {[](Arguments& a) { a.v.clear(); }, kEmptyDimension},
      {[](Arguments& a) { a.pos.clear(); }, kEmptyDimension},
      {[](Arguments& a) { a.kv_heads = 0; }, kEmptyDimension},
      {[](Arguments& a) { a.head_dim = -8; }, kEmptyDimension},
      {[](Arguments& a) { a.head_dim = kMaxDim + 1; }, kDimensionTooLarge},
      {[](Arguments& a) { a.kv_heads = INT64_MAX; }, kDimensionTooLarge},
      {[](Arguments& a) { a.kv_heads = a.head_dim = kMaxDim; }, kRowLengthMismatch},
      {[&](Arguments& a) { drop(a.k, 1); }, kRowLengthMismatch},
      {[&](Arguments& a) { drop(a.q, 8); }, kRowLengthMismatch},
      {[](Arguments& a) {
         a.pos = {0, 0, 0};
       },
       kRowLengthMismatch},
      {[&](Arguments& a) { drop(a.v, 16); }, kOperandLengthMismatch},
      {[&](Arguments& a) { a.q_norm = seven; }, kOperandLengthMismatch},
      {[&](Arguments& a) { a.k_norm = std::span<const float>(); }, kOperandLengthMismatch},
      {[&](Arguments& a) { drop(a.k_cache, 1); }, kCacheLengthMismatch},
      {[&](Arguments& a) { drop(a.v_cache, 64); }, kCacheLengthMismatch},
      {[](Arguments& a) { a.format = "q8_0"; }, kCacheLengthMismatch},
      {[](Arguments& a) { a.kv_heads = 4, a.head_dim = 4, a.format = "f16"; }, kOk},
      {[](Arguments& a) { a.kv_heads = 1, a.head_dim = 16, a.q.resize(64); }, kOk},
      {[](Arguments& a) { a.q.resize(2 * 3 * 8); }, kHeadCountMismatch},
      {[](Arguments& a) { a.pos = {-1}; }, kPositionOutOfRange},
      {[](Arguments& a) { a.pos = {4}; }, kOk},
      {[](Arguments& a) { a.pos = {5}; }, kPositionOutOfRange},
      {[](Arguments& a) { a.pos = {INT64_MAX}; }, kPositionOutOfRange},
      {[](Arguments& a) { a.k_cache.clear(), a.v_cache.clear(); }, kPositionOutOfRange},
      {[](Arguments& a) { a.format = "q4_0"; }, kParameterOutOfRange},
      {[](Arguments& a) { a.scale = -1; }, kParameterOutOfRange},
      {[&](Arguments& a) { a.scale = kNan; }, kParameterOutOfRange},
      {[](Arguments& a) { a.scale = 1e-300; }, kParameterOutOfRange},
      {[](Arguments& a) { a.window = -1; }, kParameterOutOfRange},
      {[](Arguments& a) { a.window = INT64_MAX; }, kOk},
      {[](Arguments& a) { a.softcap = HUGE_VAL; }, kParameterOutOfRange},
      {[](Arguments& a) { a.eps = -1; }, kParameterOutOfRange},
      {[](Arguments& a) { a.rope_theta = 0.5; }, kParameterOutOfRange},
  };
  for (const auto& [change, status] : rows) {
    Fixture f;
    Arguments a = arguments(rng, 2);
    change(a);
    const Arguments before = a;
    const AttentionResult r = a.run(f.context);
    const auto at = &change - &rows[0].first;
    EXPECT_EQ(r.status, status) << "row " << at;
    EXPECT_EQ(r.out.empty(), status != kOk) << "row " << at;
    EXPECT_EQ(a.k_cache != before.k_cache && a.v_cache != before.v_cache, status == kOk) << "row " << at;
  }
}

TEST(AttentionFunction, RefusesAnOddRotationAndOverlap) {
  Rng rng(20270513);
  SCOPED_TRACE(rng.trace());
  Fixture f;
  Arguments odd = arguments(rng, 2);
  odd.head_dim = 1;
  odd.rope_theta = 10000;
  EXPECT_EQ(odd.run(f.context).status, kOddHeadDimension);
  Arguments a = arguments(rng, 2);
  const auto run = [&](std::span<const float> q, std::span<const float> k, std::span<std::uint8_t> k_cache,
                       std::span<std::uint8_t> v_cache) {
    return attention(f.context, q, k, a.v, k_cache, v_cache, a.pos, 2, 8, "f32", 0, 0, 0, {}, {}, 1e-6, 0).status;
  };
  const std::span<const float> in_cache(reinterpret_cast<const float*>(a.k_cache.data()), a.q.size());
  EXPECT_EQ(run(a.q, a.k, a.k_cache, a.v_cache), kOk);
  EXPECT_EQ(run(a.q, a.k, a.k_cache, a.k_cache), kOverlappingBuffers);
  EXPECT_EQ(run(in_cache, a.k, a.k_cache, a.v_cache), kOverlappingBuffers);
  EXPECT_EQ(run(a.q, in_cache.first(a.k.size()), a.v_cache, a.k_cache), kOverlappingBuffers);
}

}  // namespace
}  // namespace krt::decode
