#include "modules/llmk/generate/generate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "modules/builtin.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::llmk {
namespace {

using testing::GuardedBuffer;
using testing::Rng;
using testing::same_bits;
using testing::ValueCheck;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

// Growth of the cache.

TEST(KvCacheAppend, DocumentedExampleByName) {
  Runtime runtime(builtin_registry(), {.threads = 1});
  const std::vector<double> cache{0, 1, 2, 3, 4, 5}, new_vals{100, 101, 102};
  const ExecuteResult r = runtime.execute("llmk.generate", "kv_cache_append_flat", List{cache, new_vals, 6, 3});
  ASSERT_TRUE(r.success()) << r.error.message();
  EXPECT_TRUE(same_bits<double>(r.result["out"].get_if<Tensor>()->as<double>(),
                                std::vector<double>{0, 1, 2, 3, 4, 5, 100, 101, 102}));
  EXPECT_EQ(*r.result["n"].get_if<std::int64_t>(), 9);
  EXPECT_EQ(r.status, 560);
}

TEST(KvCacheAppend, GrowsInOrderFromAnEmptyCache) {
  ValueCheck copying("llmk.generate.kv_cache_append_flat"), in_place("llmk.generate._kv_cache_append_into_flat"),
      reserve("llmk.generate._kv_cache_reserve_flat");
  Rng rng(20261202);
  SCOPED_TRACE(rng.trace());
  const std::vector<double> all = rng.normals<double>(1000);
  std::vector<double> grown, reserved = kv_cache_reserve_flat(1000);
  ASSERT_EQ(reserved, std::vector<double>(1000, 0.0));
  for (std::size_t len = 0; len < all.size();) {
    const std::size_t step = std::min<std::size_t>(static_cast<std::size_t>(rng.integer(1, 97)), all.size() - len);
    const GuardedBuffer<double> new_vals(std::span<const double>(all).subspan(len, step));
    const auto l = static_cast<std::int64_t>(len), s = static_cast<std::int64_t>(step);
    const KvAppendResult r = kv_cache_append_flat(grown, new_vals.cspan(), l, s);
    ASSERT_EQ(r.status, kOk);
    ASSERT_EQ(r.n, l + s);
    grown = r.out;
    ASSERT_EQ(kv_cache_append_into_flat(reserved, new_vals.cspan(), l, s), kOk);
    len += step;
    const auto want = std::span<const double>(all).first(len);
    ASSERT_TRUE(same_bits<double>(grown, want));
    ASSERT_TRUE(same_bits<double>(std::span<const double>(reserved).first(len), want));
    ASSERT_TRUE(std::all_of(reserved.begin() + static_cast<std::ptrdiff_t>(len), reserved.end(),
                            [](double v) { return v == 0; }));
  }
}

TEST(KvCacheAppend, ControlAnOverwrittenValueIsNoticed) {
  std::vector<double> reserved = kv_cache_reserve_flat(4);
  const std::vector<double> v{1, 2};
  ASSERT_EQ(kv_cache_append_into_flat(reserved, v, 0, 2), kOk);
  ASSERT_EQ(kv_cache_append_into_flat(reserved, v, 1, 2), kOk);  // one place too early
  EXPECT_FALSE(same_bits<double>(reserved, std::vector<double>{1, 2, 1, 2}));
}

// An element that counts how often one is written.
struct Counted {
  static inline std::int64_t copies = 0;
  Counted() = default;
  Counted(const Counted&) { ++copies; }
  Counted& operator=(const Counted&) {
    ++copies;
    return *this;
  }
};

struct Cost {
  double copying, in_place;  // elements written for each one appended
};
Cost cost_of_appending(std::int64_t n_new, std::int64_t cache_len) {
  std::vector<Counted> cache(static_cast<std::size_t>(cache_len + n_new)), new_vals(static_cast<std::size_t>(n_new));
  const std::span<const Counted> in_use = std::span<const Counted>(cache).first(static_cast<std::size_t>(cache_len));
  Counted::copies = 0;
  EXPECT_EQ(detail::appended<Counted>(in_use, new_vals).size(), cache.size());
  const auto copying = static_cast<double>(Counted::copies);
  Counted::copies = 0;
  EXPECT_EQ(detail::append_into<Counted>(cache, new_vals, cache_len, n_new), kOk);
  return {copying / static_cast<double>(n_new), static_cast<double>(Counted::copies) / static_cast<double>(n_new)};
}

// The documented gate: 128 elements into 2,048 and into 133,120; the cost of each may grow threefold. Counted, not
// timed.
TEST(KvCacheAppend, CostShapeInPlaceIsFlatAndCopyingIsNot) {
  constexpr double kGate = 3;
  const Cost small = cost_of_appending(128, 2048), large = cost_of_appending(128, 2048 + 131072);
  EXPECT_LE(large.in_place, kGate * small.in_place);
  EXPECT_EQ(large.in_place, 1);
  EXPECT_GT(large.copying, kGate * small.copying);  // the control: the gate can fail
  EXPECT_EQ(small.copying, (2048 + 128) / 128.0);
  EXPECT_EQ(large.copying, (133120 + 128) / 128.0);
}

TEST(KvCacheAppend, RefusesWrongDimensions) {
  const std::vector<double> six(6, 1.0), three(3, 2.0), none;
  const struct {
    std::span<const double> cache, new_vals;
    std::int64_t cache_len, n_new, status;
  } rows[] = {
      {six, none, 6, 0, kEmptyDimension},
      {six, three, -6, 3, kEmptyDimension},
      {six, three, 6, INT64_MIN, kEmptyDimension},
      {six, three, kMaxDim + 1, 3, kDimensionTooLarge},
      {six, three, 6, INT64_MAX, kDimensionTooLarge},
      {six, three, 5, 3, kCacheLengthMismatch},
      {six, three, 7, 3, kCacheLengthMismatch},
      {six, three, 0, 3, kCacheLengthMismatch},
      {six, three, 6, 2, kNewLengthMismatch},
      {six, three, 6, 4, kNewLengthMismatch},
  };
  for (const auto& row : rows) {
    const KvAppendResult r = kv_cache_append_flat(row.cache, row.new_vals, row.cache_len, row.n_new);
    EXPECT_EQ(r.status, row.status);
    EXPECT_TRUE(r.out.empty());
    EXPECT_EQ(r.n, 0);
  }
}

TEST(KvCacheAppend, InPlaceWritesNothingWhereItRefuses) {
  GuardedBuffer<double> cache(std::vector<double>(6, 7.0));
  const std::vector<double> three(3, 2.0);
  const std::int64_t rows[][3] = {{4, 3, kCacheCapacityExceeded},
                                  {6, 3, kCacheCapacityExceeded},
                                  {7, 3, kCacheCapacityExceeded},
                                  {kMaxDim, 3, kCacheCapacityExceeded},
                                  {kMaxDim + 1, 3, kDimensionTooLarge},
                                  {INT64_MAX, 3, kDimensionTooLarge},
                                  {-1, 3, kEmptyDimension},
                                  {0, 0, kEmptyDimension},
                                  {0, 2, kNewLengthMismatch}};
  for (const auto& [cache_len, n_new, status] : rows)
    EXPECT_EQ(kv_cache_append_into_flat(cache.span(), three, cache_len, n_new), status) << cache_len << ' ' << n_new;
  EXPECT_EQ(cache.copy(), std::vector<double>(6, 7.0));
  EXPECT_EQ(kv_cache_append_into_flat(cache.span(), three, 3, 3), kOk);
}

TEST(KvCacheAppend, ReserveRefusesWhatNoAppendCouldFill) {
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-1}, 2 * kMaxDim + 1, INT64_MAX, INT64_MIN})
    EXPECT_TRUE(kv_cache_reserve_flat(n).empty()) << n;
}

TEST(KvCacheAppend, TheInPlaceFormsAreNotThereByName) {
  Runtime runtime(builtin_registry(), {.threads = 1});
  const List args{9};
  const ExecuteResult r = runtime.execute("llmk.generate", "_kv_cache_reserve_flat", args);
  EXPECT_EQ(r.error.reason(), Reason::kFunctionNotRegistered);
  EXPECT_NE(runtime.registry().find("llmk.generate", "_kv_cache_reserve_flat"), nullptr);
  EXPECT_NE(runtime.registry().find("llmk.generate", "_kv_cache_append_into_flat"), nullptr);
}

// Greedy argmax.

GreedyResult argmax(std::span<const double> logits) { return greedy_argmax_flat(logits, std::ssize(logits)); }

// The oracle: numpy's rule, one comparison after the other.
std::size_t numpy_argmax(std::span<const double> v) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (std::isnan(v[i])) return i;
    if (v[i] > v[best]) best = i;
  }
  return best;
}

TEST(GreedyArgmax, DocumentedExamplesByName) {
  Runtime runtime(builtin_registry(), {.threads = 1});
  const std::vector<double> mid{1, 9, 3}, tied{2, 7, 7, 1};
  const Value r = runtime.execute("llmk.generate", "greedy_argmax_flat", List{mid, 3}).result;
  EXPECT_TRUE(identical(r, Dict{{"token_id", 1}, {"logit", 9.0}, {"status", 560}}));
  EXPECT_EQ(
      *runtime.execute("llmk.generate", "greedy_argmax_flat", List{tied, 4}).result["token_id"].get_if<std::int64_t>(),
      1);
}

TEST(GreedyArgmax, FindsTheMaximumAtEveryPosition) {
  for (const std::size_t n : {1, 2, 3, 7, 8, 9, 100, 1023, 1024, 1025, 2049}) {
    for (std::size_t at = 0; at < n; ++at) {
      std::vector<double> v(n, -3.0);
      v[at] = -2.5;
      EXPECT_EQ(argmax(v).token_id, static_cast<std::int64_t>(at)) << n;
      EXPECT_EQ(argmax(v).logit, -2.5);
    }
  }
}

// A Qwen3-0.6B vocabulary row; id 12095 is " Paris".
TEST(GreedyArgmax, FindsThePlantedMaximumOfAWholeVocabulary) {
  Rng rng(20261203);
  SCOPED_TRACE(rng.trace());
  GuardedBuffer<double> logits(rng.normals<double>(151936));
  logits.span()[12095] = 25.5;
  const GreedyResult r = argmax(logits.cspan());
  EXPECT_EQ(r.token_id, 12095);
  EXPECT_EQ(r.logit, 25.5);
  EXPECT_EQ(r.status, kOk);
}

TEST(GreedyArgmax, AgreesWithTheOracleOnTiesAndSpecialValues) {
  ValueCheck check("llmk.generate.greedy_argmax_flat");
  Rng rng(20261204);
  SCOPED_TRACE(rng.trace());
  const double special[] = {kNan,
                            kInf,
                            -kInf,
                            0.0,
                            -0.0,
                            1,
                            -1,
                            std::numeric_limits<double>::denorm_min(),
                            std::numeric_limits<double>::max()};
  for (int round = 0; round < 5000; ++round) {
    std::vector<double> v(static_cast<std::size_t>(rng.integer(1, round % 5 == 0 ? 4000 : 200)));
    // Few distinct values, so that ties are the rule; every other round without NaN.
    for (double& x : v) x = special[rng.integer(round % 2, 8)];
    if (round % 3 == 0) std::fill(v.begin(), v.begin() + std::ssize(v) / 2, -kInf);  // and not all in the first block
    const GuardedBuffer<double> logits(v);
    const std::size_t want = numpy_argmax(v);
    const GreedyResult r = argmax(logits.cspan());
    ASSERT_EQ(r.token_id, static_cast<std::int64_t>(want));
    ASSERT_TRUE(same_bits<double>(std::span(&r.logit, 1), std::span(&v[want], 1)));
  }
}

TEST(GreedyArgmax, TheRowsThatHaveARuleOfTheirOwn) {
  EXPECT_EQ(argmax(std::vector<double>(40, -kInf)).token_id, 0);
  EXPECT_EQ(argmax(std::vector<double>{1, kInf, kInf}).token_id, 1);
  EXPECT_EQ(argmax(std::vector<double>{1, kInf, kNan, kNan}).token_id, 2);
  EXPECT_EQ(argmax(std::vector<double>{-0.0, 0.0}).token_id, 0);
}

TEST(GreedyArgmax, RefusesWrongDimensions) {
  const std::vector<double> three(3, 1.0);
  const std::int64_t rows[][2] = {{0, kEmptyDimension},
                                  {-3, kEmptyDimension},
                                  {kMaxDim + 1, kDimensionTooLarge},
                                  {INT64_MAX, kDimensionTooLarge},
                                  {2, kLogitsLengthMismatch},
                                  {4, kLogitsLengthMismatch}};
  for (const auto& [n, status] : rows) {
    const GreedyResult r = greedy_argmax_flat(three, n);
    EXPECT_EQ(r.status, status);
    EXPECT_EQ(r.token_id, -1);
    EXPECT_EQ(r.logit, 0);
  }
}

}  // namespace
}  // namespace krt::llmk
