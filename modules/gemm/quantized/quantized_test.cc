#include "modules/gemm/quantized/quantized.h"

#include <gtest/gtest.h>

#include <cmath>

#include "modules/gemm/contract/contract.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::gemm {
namespace {

using testing::all_close;
using testing::all_within;
using testing::fixture;
using testing::FixtureCase;
using testing::GuardedBuffer;
using testing::Rng;
using testing::same_bits;
using testing::TestContext;
using testing::ValueCheck;

// bits 0: NormalFloat, of whatever number of columns.
QGemmResult run(std::span<const std::int64_t> codes, std::span<const double> scales, std::span<const double> x,
                std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t block, std::int64_t bits,
                int threads = 1) {
  if (bits != 0) return gemv_int_flat(TestContext(threads), codes, scales, x, m, k, block, bits);
  if (n == 1) return gemv_nf4_flat(TestContext(threads), codes, scales, x, m, k, block);
  return gemm_nf4_flat(TestContext(threads), codes, scales, x, m, n, k, block);
}

TEST(NormalFloat, HasThePublishedLevels) {
  for (const FixtureCase& c : fixture("gemm")) {
    if (c.text("kind") != "levels") continue;
    EXPECT_TRUE(same_bits<double>(kNf4, c.f64s("published")));
    EXPECT_TRUE((all_close<double, double>(kNf4, c.f64s("quantiles"), 0, 2e-7)));  // f32 of a rounded offset
  }
}

TEST(Quantized, MatchesTheOracle) {
  ValueCheck integers("gemm.quantized.gemv_int_flat"), gemv("gemm.quantized.gemv_nf4_flat"),
      gemm("gemm.quantized.gemm_nf4_flat"), delta("gemm.quantized.quantized_gemv_golden_delta");
  int found = 0;
  for (const FixtureCase& c : fixture("gemm")) {
    if (c.text("kind") != "quantized") continue;
    SCOPED_TRACE(c.name());
    ++found;
    const GuardedBuffer<std::int64_t> codes(c.i64s("codes"));
    const GuardedBuffer<double> scales(c.f64s("scales")), x(c.f64s("x"));
    const std::int64_t m = c.integer("m"), k = c.integer("k"), n = c.integer("n"), block = c.integer("block"),
                       bits = c.integer("bits");
    const QGemmResult r = run(codes.cspan(), scales.cspan(), x.cspan(), m, k, n, block, bits);
    const std::vector<double> magnitude = c.f64s("magnitude");
    EXPECT_TRUE((all_within<double, double>(
        r.y, c.f64s("y"), [&](std::size_t i, double) { return static_cast<double>(k + 4) * 0x1p-53 * magnitude[i]; })));
    EXPECT_EQ(r.rows, m);
    EXPECT_EQ(r.cols, n);
    EXPECT_EQ(r.flop_count, static_cast<double>(2 * m * k * n));
    EXPECT_EQ(r.status, kOk);
    if (bits != 0 || n != 1) continue;
    const QDelta d = quantized_gemv_golden_delta(TestContext(), codes.cspan(), scales.cspan(), x.cspan(), m, k, block);
    EXPECT_TRUE(d.within_tolerance) << d.max_abs_delta << " over " << d.tolerance_at_max;
    EXPECT_EQ(d.n_compared, m);
    EXPECT_LT(d.tolerance_at_max, 1e-12);
  }
  EXPECT_EQ(found, 12);
}

TEST(Quantized, IsHandComputable) {
  const std::vector<std::int64_t> codes{-8, 7, 1, 0};
  const std::vector<double> scales{0.5, 0.25}, x{1, 2};
  EXPECT_EQ(run(codes, scales, x, 2, 2, 1, 2, 4).y, (std::vector<double>{3, 0.25}));
  const std::vector<std::int64_t> levels{0, 7, 15, 7};  // -1, 0, 1, 0
  EXPECT_EQ(run(levels, scales, x, 2, 2, 1, 2, 0).y, (std::vector<double>{-0.5, 0.25}));
  const std::vector<double> two_columns{1, 10, 2, 20};
  EXPECT_EQ(run(levels, scales, two_columns, 2, 2, 2, 2, 0).y, (std::vector<double>{-0.5, -5, 0.25, 2.5}));
}

TEST(Quantized, SameBitsAtEveryThreadCountAndForAColumnAlone) {
  Rng rng(20270101);
  SCOPED_TRACE(rng.trace());
  const std::int64_t m = 67, k = 256, n = 5, block = 64;
  std::vector<std::int64_t> codes(static_cast<std::size_t>(m * k));
  for (auto& code : codes) code = rng.integer(0, 15);
  const auto scales = rng.normals<double>(static_cast<std::size_t>(m * k / block)),
             x = rng.normals<double>(static_cast<std::size_t>(k * n));
  const QGemmResult one = run(codes, scales, x, m, k, n, block, 0);
  EXPECT_EQ(one.backend_used, kSerial);
  for (const int threads : {2, 16}) {
    const QGemmResult r = run(codes, scales, x, m, k, n, block, 0, threads);
    EXPECT_TRUE(same_bits<double>(r.y, one.y));
    EXPECT_EQ(r.backend_used, kParallel);
  }
  for (std::size_t c = 0; c < 5; ++c) {
    std::vector<double> column, want;
    for (std::size_t j = 0; j < 256; ++j) column.push_back(x[j * 5 + c]);
    for (std::size_t i = 0; i < 67; ++i) want.push_back(one.y[i * 5 + c]);
    EXPECT_TRUE(same_bits<double>(run(codes, scales, column, m, k, 1, block, 0).y, want));
  }
}

TEST(Quantized, ControlAWrongCodeIsNoticed) {
  for (const FixtureCase& c : fixture("gemm")) {
    if (c.text("kind") != "quantized" || c.integer("bits") != 4 || c.integer("k") != 24) continue;
    std::vector<std::int64_t> codes = c.i64s("codes");
    codes[30] = codes[30] == 0 ? 1 : 0;
    const QGemmResult r = run(codes, c.f64s("scales"), c.f64s("x"), 5, 24, 1, 8, 4);
    const std::vector<double> magnitude = c.f64s("magnitude");
    EXPECT_FALSE((all_within<double, double>(r.y, c.f64s("y"),
                                             [&](std::size_t i, double) { return 28 * 0x1p-53 * magnitude[i]; })));
  }
}

TEST(Quantized, RefusesWrongDimensionsAndCodes) {
  const std::vector<std::int64_t> four{0, 1, 2, 3}, three{0, 1, 2}, high{0, 1, 2, 16}, low{0, 1, 2, -1};
  const std::vector<double> two(2, 1.0), one(1, 1.0);
  const struct {
    std::span<const std::int64_t> codes;
    std::span<const double> scales, x;
    std::int64_t m, n, block, status;
  } rows[] = {
      {four, two, two, 0, 2, 2, kEmptyDimension},
      {four, two, two, 2, INT64_MIN, 0, kEmptyDimension},
      {four, two, two, 2, INT64_MAX, 2, kDimensionTooLarge},
      {four, two, two, 2, 2, 0, kBadBlock},
      {four, two, two, 2, 2, -2, kBadBlock},
      {four, two, two, 2, 2, 3, kBadBlock},
      {four, two, two, 2, 2, INT64_MIN, kBadBlock},
      {three, one, one, 2, 2, 2, kCodesLengthMismatch},
      {four, one, one, 2, 2, 2, kScalesLengthMismatch},
      {four, two, one, 2, 2, 2, kXLengthMismatch},
      {high, two, two, 2, 2, 2, kCodeValueOutOfRange},
      {low, two, two, 2, 2, 2, kCodeValueOutOfRange},
      {four, two, two, 2, 2, 2, kOk},
  };
  for (const auto& row : rows) {
    const QGemmResult r = run(row.codes, row.scales, row.x, row.m, row.n, 1, row.block, 0);
    EXPECT_EQ(r.status, row.status);
    EXPECT_EQ(r.y.empty(), row.status != kOk);
    EXPECT_EQ(quantized_gemv_golden_delta(TestContext(), row.codes, row.scales, row.x, row.m, row.n, row.block).status,
              row.status);
    EXPECT_EQ(gemm_nf4_flat(TestContext(), row.codes, row.scales, row.x, row.m, 1, row.n, row.block).status,
              row.status);
  }
  for (const std::int64_t bits : {std::int64_t{1}, std::int64_t{9}, std::int64_t{-4}, INT64_MIN, INT64_MAX})
    EXPECT_EQ(gemv_int_flat(TestContext(), four, two, two, 2, 2, 2, bits).status, kBadBits);
  EXPECT_EQ(gemv_int_flat(TestContext(), four, two, two, 2, 2, 2, 3).status, kOk);  // 3 is its greatest code
  EXPECT_EQ(gemv_int_flat(TestContext(), four, two, two, 2, 2, 2, 2).status, kCodeValueOutOfRange);
  // 2^48 cells of a result.
  EXPECT_EQ(gemm_nf4_flat(TestContext(), four, two, two, kMaxDim, kMaxDim, 1, 1).status, kDimensionTooLarge);
}

}  // namespace
}  // namespace krt::gemm
