#include "modules/llmk/gemv_fast/gemv_fast.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "modules/builtin.h"
#include "modules/gemm/blocked/blocked.h"
#include "modules/llmk/contract/contract.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::llmk {
namespace {

using testing::all_within;
using testing::GuardedBuffer;
using testing::Rng;
using testing::same_bits;
using testing::TestContext;
using testing::ValueCheck;

struct Problem {
  std::size_t m, n;
  GuardedBuffer<double> a, x;
  Problem(std::size_t m, std::size_t n, Rng& rng)
      : m(m), n(n), a(rng.normals<double>(m * n)), x(rng.normals<double>(m)) {}

  ParallelGemvResult run(int threads) const {
    return gemv_transposed_parallel_flat(TestContext(threads), a.cspan(), x.cspan(), static_cast<std::int64_t>(m),
                                         static_cast<std::int64_t>(n));
  }
  // What the frozen kernel answers.
  std::vector<double> frozen() const {
    return gemm::gemv_flat(TestContext(), a.cspan(), x.cspan(), static_cast<std::int64_t>(m),
                           static_cast<std::int64_t>(n), true)
        .c;
  }
};

// The oracle: one column after the other, in 80-bit long double; with the bound of recursive summation.
void expect_near_exact(const Problem& p, std::span<const double> y) {
  std::vector<double> want(p.n), bound(p.n);
  for (std::size_t j = 0; j < p.n; ++j) {
    long double sum = 0, magnitude = 0;
    for (std::size_t i = 0; i < p.m; ++i) {
      const long double term = static_cast<long double>(p.a.cspan()[i * p.n + j]) * p.x.cspan()[i];
      sum += term;
      magnitude += std::fabs(term);
    }
    want[j] = static_cast<double>(sum);
    bound[j] = static_cast<double>(magnitude) * static_cast<double>(p.m + 1) * 0x1p-53;
  }
  EXPECT_TRUE((all_within<double, double>(y, want, [&](std::size_t j, double) { return bound[j]; })));
}

TEST(GemvFast, DocumentedExampleByName) {
  Runtime runtime(builtin_registry(), {.threads = 2});
  const std::vector<double> a{1, 2, 3, 4, 5, 6}, x{1, 1};
  const ExecuteResult r = runtime.execute("llmk.gemv_fast", "gemv_transposed_parallel_flat", List{a, x, 2, 3});
  ASSERT_TRUE(r.success()) << r.error.message();
  EXPECT_TRUE(same_bits<double>(r.result["y"].get_if<Tensor>()->as<double>(), std::vector<double>{5, 7, 9}));
  EXPECT_EQ(*r.result["n"].get_if<std::int64_t>(), 3);
  EXPECT_EQ(r.status, 560);
  EXPECT_EQ(r.status_name, "llmk_ok");
}

TEST(GemvFast, NonUniformWeightsAreHandComputable) {
  const std::vector<double> a{1, 2, 3, 4, 5, 6}, x{0.5, -2};
  EXPECT_EQ(gemv_transposed_parallel_flat(TestContext(), a, x, 2, 3).y, (std::vector<double>{-7.5, -9, -10.5}));
}

// 300 x 300 and 128 x 1536 are the documented shapes; the others stand at the fan-out threshold, at tails of the row
// passes and of the bands, and at the projections of Qwen3-0.6B.
TEST(GemvFast, BitIdenticalToTheFrozenKernelAtEveryThreadCount) {
  ValueCheck check("llmk.gemv_fast.gemv_transposed_parallel_flat");
  Rng rng(20261201);
  SCOPED_TRACE(rng.trace());
  const std::size_t shapes[][2] = {{2, 3},     {1, 1},     {7, 1},       {1, 100001},  {100001, 1},  {255, 257},
                                   {256, 256}, {257, 257}, {300, 300},   {128, 1536},  {9, 8191},    {8191, 9},
                                   {1023, 65}, {65536, 3}, {1024, 2048}, {1024, 3072}, {3072, 1024}, {1000, 999}};
  for (const auto& [m, n] : shapes) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
    const Problem p(m, n, rng);
    const std::vector<double> want = p.frozen();
    expect_near_exact(p, want);
    for (const int threads : {1, 2, 16}) {
      const ParallelGemvResult r = p.run(threads);
      EXPECT_TRUE(same_bits<double>(r.y, want)) << threads << " threads";
      EXPECT_EQ(r.n, static_cast<std::int64_t>(n));
      EXPECT_EQ(r.status, kOk);
    }
  }
}

TEST(GemvFast, ControlAnotherOrderOfSumsIsNoticed) {
  Rng rng(7);
  const Problem p(300, 300, rng);
  std::vector<double> backwards(p.n);
  for (std::size_t i = p.m; i-- > 0;)
    for (std::size_t j = 0; j < p.n; ++j) backwards[j] += p.a.cspan()[i * p.n + j] * p.x.cspan()[i];
  EXPECT_FALSE(same_bits<double>(p.run(2).y, backwards));
}

TEST(GemvFast, ControlAMissingRowIsNoticed) {
  Rng rng(8);
  const Problem p(300, 300, rng);
  std::vector<double> y = p.run(2).y;
  y[299] -= p.a.cspan()[299 * 300 + 299] * p.x.cspan()[299];
  EXPECT_NONFATAL_FAILURE(expect_near_exact(p, y), "bound");
}

TEST(GemvFast, StartsAtPositiveZero) {
  const std::vector<double> a(3, -0.0), x{1};
  for (const double y : gemv_transposed_parallel_flat(TestContext(), a, x, 1, 3).y) EXPECT_FALSE(std::signbit(y));
}

TEST(GemvFast, NonFiniteValuesStayInTheirColumn) {
  Rng rng(9);
  Problem p(300, 300, rng);
  p.a.span()[17 * 300 + 5] = std::numeric_limits<double>::infinity();
  p.a.span()[18 * 300 + 6] = std::nan("");
  const std::vector<double> y = p.run(2).y;
  for (std::size_t j = 0; j < 300; ++j) {
    EXPECT_EQ(std::isinf(y[j]), j == 5) << j;
    EXPECT_EQ(std::isnan(y[j]), j == 6) << j;
  }
}

TEST(GemvFast, RefusesWrongDimensions) {
  const std::vector<double> six(6, 1.0), two(2, 1.0), none;
  const struct {
    std::span<const double> a, x;
    std::int64_t m, n, status;
  } rows[] = {
      {six, two, 0, 3, kEmptyDimension},
      {six, two, 2, -3, kEmptyDimension},
      {none, none, 0, 0, kEmptyDimension},
      {six, two, kMaxDim + 1, 3, kDimensionTooLarge},
      {six, two, INT64_MAX, INT64_MAX, kDimensionTooLarge},
      {none, two, kMaxDim, kMaxDim, kGemvALengthMismatch},
      {two, two, 2, 3, kGemvALengthMismatch},
      {six, six, 2, 3, kGemvXLengthMismatch},
      {six, two, 3, 2, kGemvXLengthMismatch},
  };
  TestContext context(2);
  for (const auto& row : rows) {
    const ParallelGemvResult r = gemv_transposed_parallel_flat(context, row.a, row.x, row.m, row.n);
    EXPECT_EQ(r.status, row.status);
    EXPECT_TRUE(r.y.empty());
    EXPECT_EQ(r.n, 0);
  }
}

}  // namespace
}  // namespace krt::llmk
