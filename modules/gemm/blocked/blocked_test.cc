#include "modules/gemm/blocked/blocked.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "modules/gemm/contract/contract.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::gemm {
namespace {

using testing::all_within;
using testing::GuardedBuffer;
using testing::Rng;
using testing::same_bits;
using testing::TestContext;
using testing::ValueCheck;

GemmResult gemv(std::span<const double> a, std::span<const double> x, std::int64_t m, std::int64_t n, bool trans,
                int threads = 1) {
  return gemv_flat(TestContext(threads), a, x, m, n, trans);
}

// The oracle works on one output at a time: in long double for the value, in f64 for the bits.
void expect_matches(std::span<const double> a, std::span<const double> x, std::size_t m, std::size_t n, bool trans,
                    std::span<const double> c) {
  const std::size_t outputs = trans ? n : m, terms = trans ? m : n;
  std::vector<double> exact(outputs), bound(outputs), ordered(outputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    long double sum = 0, magnitude = 0;
    volatile double in_order = 0;  // volatile: every step is rounded and stored
    for (std::size_t t = 0; t < terms; ++t) {
      const double cell = trans ? a[t * n + o] : a[o * n + t];
      sum += static_cast<long double>(cell) * x[t];
      magnitude += std::fabs(static_cast<long double>(cell) * x[t]);
      const volatile double product = cell * x[t];
      in_order = in_order + product;
    }
    exact[o] = static_cast<double>(sum);
    bound[o] = static_cast<double>(magnitude) * static_cast<double>(terms + 1) * 0x1p-53;
    ordered[o] = in_order;
  }
  EXPECT_TRUE((all_within<double, double>(c, exact, [&](std::size_t o, double) { return bound[o]; })));
  EXPECT_TRUE(same_bits<double>(c, ordered));
}

TEST(Gemv, IsHandComputable) {
  const std::vector<double> a{1, 2, 3, 4, 5, 6};
  const GemmResult plain = gemv(a, std::vector<double>{1, 0, -1}, 2, 3, false);
  EXPECT_EQ(plain.c, (std::vector<double>{-2, -2}));
  EXPECT_EQ(plain.rows, 2);
  EXPECT_EQ(plain.cols, 1);
  const GemmResult transposed = gemv(a, std::vector<double>{1, 1}, 2, 3, true);
  EXPECT_EQ(transposed.c, (std::vector<double>{5, 7, 9}));
  EXPECT_EQ(transposed.rows, 3);
  for (const GemmResult& r : {plain, transposed}) {
    EXPECT_EQ(r.flop_count, 12);
    EXPECT_EQ(r.backend_used, kSerial);
    EXPECT_EQ(r.status, kOk);
  }
}

TEST(Gemv, MatchesTheOracleAtEveryShapeAndThreadCount) {
  ValueCheck check("gemm.blocked.gemv_flat");
  Rng rng(20261205);
  SCOPED_TRACE(rng.trace());
  const std::size_t shapes[][2] = {{1, 1},     {1, 9},     {9, 1},     {7, 5},     {8, 8},     {17, 3},
                                   {255, 257}, {256, 256}, {257, 257}, {70001, 1}, {1, 70001}, {131, 1025}};
  for (const auto& [m, n] : shapes) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
    const GuardedBuffer<double> a(rng.normals<double>(m * n));
    for (const bool trans : {false, true}) {
      const GuardedBuffer<double> x(rng.normals<double>(trans ? m : n));
      for (const int threads : {1, 2, 16}) {
        const GemmResult r =
            gemv(a.cspan(), x.cspan(), static_cast<std::int64_t>(m), static_cast<std::int64_t>(n), trans, threads);
        expect_matches(a.cspan(), x.cspan(), m, n, trans, r.c);
        const bool fans_out = !trans && threads > 1 && m * n >= kGemvParallelMinCells;
        EXPECT_EQ(r.backend_used, fans_out ? kParallel : kSerial);
      }
    }
  }
}

TEST(Gemv, ControlAWrongValueIsNoticed) {
  const std::vector<double> a{1, 2, 3, 4}, x{0.1, 0.2};
  std::vector<double> c = gemv(a, x, 2, 2, false).c;
  c[1] = std::nextafter(c[1], 0.0);
  EXPECT_NONFATAL_FAILURE(expect_matches(a, x, 2, 2, false, c), "at 1");
}

TEST(Gemv, RefusesWrongDimensions) {
  const std::vector<double> six(6, 1.0), two(2, 1.0), three(3, 1.0), none;
  const struct {
    std::span<const double> a, x;
    std::int64_t m, n;
    bool trans;
    std::int64_t status;
  } rows[] = {
      {six, three, 0, 3, false, kEmptyDimension},
      {six, three, 2, INT64_MIN, true, kEmptyDimension},
      {six, three, kMaxDim + 1, 3, false, kDimensionTooLarge},
      {six, three, INT64_MAX, INT64_MAX, true, kDimensionTooLarge},
      {none, none, kMaxDim, kMaxDim, false, kALengthMismatch},
      {two, three, 2, 3, false, kALengthMismatch},
      {six, two, 2, 3, false, kXLengthMismatch},
      {six, three, 2, 3, true, kXLengthMismatch},
  };
  for (const auto& row : rows) {
    const GemmResult r = gemv(row.a, row.x, row.m, row.n, row.trans, 2);
    EXPECT_EQ(r.status, row.status);
    EXPECT_TRUE(r.c.empty());
    EXPECT_EQ(r.rows, 0);
    EXPECT_EQ(r.cols, 0);
    EXPECT_EQ(r.flop_count, 0);
  }
}

}  // namespace
}  // namespace krt::gemm
