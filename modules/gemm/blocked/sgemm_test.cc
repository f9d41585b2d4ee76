#include "modules/gemm/blocked/sgemm.h"

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

using testing::all_within;
using testing::fixture;
using testing::FixtureCase;
using testing::GuardedBuffer;
using testing::Rng;
using testing::same_bits;
using testing::TestContext;
using testing::ValueCheck;

struct Problem {
  std::size_t m, n, k;
  double alpha = 1;
  bool trans_a = false, trans_b = false;
  GuardedBuffer<double> a, b;

  Problem(std::size_t m, std::size_t n, std::size_t k, Rng& rng)
      : m(m), n(n), k(k), a(rng.normals<double>(m * k)), b(rng.normals<double>(k * n)) {}

  [[nodiscard]] double a_at(std::size_t i, std::size_t p) const { return a.cspan()[trans_a ? p * m + i : i * k + p]; }
  [[nodiscard]] double b_at(std::size_t p, std::size_t j) const { return b.cspan()[trans_b ? j * k + p : p * n + j]; }

  GemmResult run(Context& context) const {
    return sgemm_flat(context, a.cspan(), b.cspan(), static_cast<std::int64_t>(m), static_cast<std::int64_t>(n),
                      static_cast<std::int64_t>(k), alpha, 0.5, trans_a, trans_b);
  }
};

struct Oracle {
  std::vector<double> exact, bound;  // in long double, and what f64 may be off by
  std::vector<double> in_order;      // f64, one rounding at a time: the bits

  explicit Oracle(const Problem& p) {
    for (std::size_t i = 0; i < p.m; ++i) {
      for (std::size_t j = 0; j < p.n; ++j) {
        long double sum = 0, magnitude = 0;
        volatile double ordered = 0;
        for (std::size_t q = 0; q < p.k; ++q) {
          const long double term = static_cast<long double>(p.a_at(i, q)) * p.b_at(q, j);
          sum += term;
          magnitude += std::fabs(term);
          const volatile double product = p.a_at(i, q) * p.b_at(q, j);
          ordered = ordered + product;
        }
        exact.push_back(static_cast<double>(p.alpha * sum));
        bound.push_back(static_cast<double>(p.k + 2) * 0x1p-53 * static_cast<double>(std::fabs(p.alpha) * magnitude));
        in_order.push_back(ordered * p.alpha);
      }
    }
  }
  [[nodiscard]] ::testing::AssertionResult matches(std::span<const double> c) const {
    const auto near = all_within<double, double>(c, exact, [&](std::size_t i, double) { return bound[i]; });
    return near ? same_bits<double>(c, in_order) : near;
  }
};

TEST(Sgemm, IsHandComputable) {
  TestContext context;
  const std::vector<double> a{1, 2, 3, 4, 5, 6}, b{1, 0, -1, 2, 1, 3};  // [2,3] and [3,2], or [3,2] and [2,3]
  const GemmResult r = sgemm_flat(context, a, b, 2, 2, 3, 2, 0, false, false);
  EXPECT_EQ(r.c, (std::vector<double>{4, 26, 10, 56}));
  EXPECT_EQ(r.rows, 2);
  EXPECT_EQ(r.cols, 2);
  EXPECT_EQ(r.flop_count, 24);
  EXPECT_EQ(r.backend_used, kSerial);
  EXPECT_EQ(r.status, kOk);
  // a as [3,2] is {{1,2},{3,4},{5,6}}: its transpose times b.
  EXPECT_EQ(sgemm_flat(context, a, b, 2, 2, 3, 1, 0, true, false).c, (std::vector<double>{3, 21, 4, 26}));
  // b as [2,3] is {{1,0,-1},{2,1,3}}: a times its transpose.
  EXPECT_EQ(sgemm_flat(context, a, b, 2, 2, 3, 1, 0, false, true).c, (std::vector<double>{-2, 13, -2, 31}));
}

TEST(Sgemm, MatchesNumpyForEveryStorage) {
  int found = 0;
  for (const FixtureCase& c : fixture("gemm")) {
    if (c.text("kind") != "product") continue;
    SCOPED_TRACE(c.name());
    ++found;
    const std::vector<double> magnitude = c.f64s("magnitude");
    const auto bound = [&](std::size_t i, double) {
      return static_cast<double>(c.integer("k") + 2) * 0x1p-53 * magnitude[i];
    };
    for (const bool trans_a : {false, true}) {
      for (const bool trans_b : {false, true}) {
        const GemmResult r = sgemm_flat(TestContext(), c.f64s(trans_a ? "a_stored_transposed" : "a"),
                                        c.f64s(trans_b ? "b_stored_transposed" : "b"), c.integer("m"), c.integer("n"),
                                        c.integer("k"), 0.75, -1, trans_a, trans_b);
        EXPECT_TRUE((all_within<double, double>(r.c, c.f64s("c"), bound)));
      }
    }
  }
  EXPECT_EQ(found, 3);
}

TEST(Sgemm, EveryVariantHasTheOraclesBitsAtEveryThreadCount) {
  Rng rng(20261214);
  SCOPED_TRACE(rng.trace());
  // Single cells, tails of tiles and of blocks (64 rows, 512 columns, 256 terms), long and flat ones.
  const std::size_t shapes[][3] = {{1, 1, 1},   {4, 16, 8},   {5, 17, 3},   {3, 15, 257}, {65, 33, 256},
                                   {7, 530, 9}, {130, 18, 5}, {1, 700, 40}, {700, 1, 40}, {68, 520, 300}};
  for (const auto& [m, n, k] : shapes) {
    Problem p(m, n, k, rng);
    for (const bool trans_a : {false, true}) {
      for (const bool trans_b : {false, true}) {
        p.trans_a = trans_a;
        p.trans_b = trans_b;
        p.alpha = trans_a ? 1 : 0.3;
        SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
        const Oracle oracle(p);
        for (const auto& variant : variants_here(gemm_tile_variants())) {
          ValueCheck check("gemm.blocked.sgemm_flat", variant.name);
          for (const int threads : {1, 2, 16}) {
            TestContext context(threads);
            context.context.force_variant = variant.name;
            const GemmResult r = p.run(context);
            EXPECT_TRUE(oracle.matches(r.c)) << variant.name << ", " << threads << " threads";
            EXPECT_EQ(r.backend_used == kParallel, threads > 1 && 2 * m * n * k >= std::size_t{kGemmParallelMinFlops});
          }
        }
      }
    }
  }
}

TEST(Sgemm, ControlAnotherOrderOfSumsIsNoticed) {
  Rng rng(20261215);
  const Problem p(4, 4, 300, rng);
  const Oracle oracle(p);
  TestContext context;
  std::vector<double> c = p.run(context).c;
  ASSERT_TRUE(oracle.matches(c));
  double backwards = 0;
  for (std::size_t q = p.k; q-- > 0;) backwards += p.a_at(1, q) * p.b_at(q, 2);
  c[6] = backwards;
  EXPECT_FALSE(oracle.matches(c));
}

TEST(Sgemm, NonFiniteValuesStayInTheirRowAndColumn) {
  Rng rng(20261216);
  Problem p(9, 18, 5, rng);
  p.a.span()[2 * 5 + 1] = HUGE_VAL;
  p.b.span()[3 * 18 + 17] = std::nan("");
  TestContext context;
  const std::vector<double> c = p.run(context).c;
  for (std::size_t i = 0; i < 9; ++i)
    for (std::size_t j = 0; j < 18; ++j) EXPECT_EQ(std::isfinite(c[i * 18 + j]), i != 2 && j != 17) << i << ' ' << j;
}

TEST(Sgemm, RefusesWrongDimensions) {
  const std::vector<double> six(6, 1.0), four(4, 1.0), none;
  const double nan = std::nan("");
  const struct {
    std::span<const double> a, b;
    std::int64_t m, n, k;
    double alpha, beta;
    std::int64_t status;
  } rows[] = {
      {six, six, 0, 2, 3, nan, 0, kEmptyDimension},
      {six, six, 2, 2, INT64_MIN, 1, 0, kEmptyDimension},
      {six, six, kMaxDim + 1, 2, 3, 1, 0, kDimensionTooLarge},
      {none, none, kMaxDim, kMaxDim, kMaxDim, 1, 0, kDimensionTooLarge},
      {none, none, kMaxDim, kMaxDim, 1, 1, 0, kDimensionTooLarge},        // 2^48 cells
      {none, none, 1 << 14, 1 << 14, 1 << 14, 1, 0, kDimensionTooLarge},  // 2^43 flops
      {four, six, 2, 2, 3, nan, 0, kALengthMismatch},
      {six, four, 2, 2, 3, nan, 0, kBLengthMismatch},
      {six, six, 2, 2, 3, nan, 0, kScalarNotFinite},
      {six, six, 2, 2, 3, 1, HUGE_VAL, kScalarNotFinite},
  };
  TestContext context(2);
  for (const auto& row : rows) {
    const GemmResult r = sgemm_flat(context, row.a, row.b, row.m, row.n, row.k, row.alpha, row.beta, false, false);
    EXPECT_EQ(r.status, row.status);
    EXPECT_TRUE(r.c.empty());
    EXPECT_EQ(r.rows + r.cols, 0);
    EXPECT_EQ(r.flop_count, 0);
    if (row.status != kScalarNotFinite && std::isfinite(row.alpha)) {
      EXPECT_EQ(gemm_reference_delta_flat(context, row.a, row.b, row.m, row.n, row.k).status, row.status);
    }
  }
}

TEST(ReferenceDelta, AgreesAndCounts) {
  ValueCheck check("gemm.blocked.gemm_reference_delta_flat");
  Rng rng(20261217);
  SCOPED_TRACE(rng.trace());
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {7, 9, 500}, {33, 70, 65}}) {
    const auto a = rng.normals<double>(static_cast<std::size_t>(m * k)),
               b = rng.normals<double>(static_cast<std::size_t>(k * n));
    TestContext context(2);
    const RefDelta r = gemm_reference_delta_flat(context, a, b, m, n, k);
    EXPECT_EQ(r.status, kOk);
    EXPECT_TRUE(r.within_tolerance) << r.max_abs_delta << " over " << r.tolerance_at_max;
    EXPECT_EQ(r.n_compared, m * n);
    EXPECT_LT(r.tolerance_at_max, 1e-10);
  }
  TestContext context;
  EXPECT_EQ(gemm_reference_delta_flat(context, {}, {}, 1 << 12, 1 << 12, (1 << 11) + 1).status, kDimensionTooLarge);
  EXPECT_EQ(gemm_reference_delta_flat(context, {}, {}, 1 << 12, 1 << 12, 1 << 11).status, kALengthMismatch);
  // 2^60 + 1 - 2^60: f64 loses the one, and the bound says so.
  const RefDelta lost = gemm_reference_delta_flat(context, std::vector<double>{0x1p60, 1, -0x1p60},
                                                  std::vector<double>{1, 1, 1}, 1, 1, 3);
  EXPECT_EQ(lost.max_abs_delta, 1);
  EXPECT_TRUE(lost.within_tolerance);
}

TEST(TilePlan, IsTheLargestThatFits) {
  ValueCheck check("gemm.blocked.gemm_tile_plan");
  // 3 side^2 f64 in 1 MiB: side 209. Intensity of a cube: side / 12.
  const TilePlan cube = gemm_tile_plan(512, 512, 512, 1 << 20);
  EXPECT_EQ(cube.tile_m, 209);
  EXPECT_EQ(cube.tile_n, 209);
  EXPECT_EQ(cube.tile_k, 209);
  EXPECT_DOUBLE_EQ(cube.arithmetic_intensity, 209.0 / 12);
  EXPECT_EQ(cube.status, kOk);
  // A whole problem that fits is one tile; a flat one leaves its room to the other sides: t + t^2 + t <= 24.
  EXPECT_EQ(gemm_tile_plan(8, 9, 10, 1 << 20).tile_k, 10);
  const TilePlan flat = gemm_tile_plan(1, 100, 100, 8 * 24);
  EXPECT_EQ(flat.tile_m, 1);
  EXPECT_EQ(flat.tile_n, 4);
  const std::int64_t sizes[] = {1, 3, 100, 4096, kMaxDim};
  for (const std::int64_t m : sizes) {
    for (const std::int64_t n : sizes) {
      for (const std::int64_t cache : {std::int64_t{24}, std::int64_t{1000}, std::int64_t{1} << 25, INT64_MAX}) {
        const TilePlan p = gemm_tile_plan(m, n, 77, cache);
        ASSERT_EQ(p.status, kOk);
        const auto cells = [&](std::int64_t grow) {
          const std::int64_t tm = std::min(p.tile_m + grow, m), tn = std::min(p.tile_n + grow, n),
                             tk = std::min(p.tile_k + grow, std::int64_t{77});
          return tm * tk + tk * tn + tm * tn;
        };
        EXPECT_LE(cells(0), cache / 8);
        if (p.tile_m < m || p.tile_n < n || p.tile_k < 77) {
          EXPECT_GT(cells(1), cache / 8);
        }
      }
    }
  }
}

TEST(TilePlan, RefusesACacheWithoutRoomAndWrongDimensions) {
  for (const std::int64_t cache : {std::int64_t{23}, std::int64_t{0}, INT64_MIN})
    EXPECT_EQ(gemm_tile_plan(4, 4, 4, cache).status, kBadCache);
  EXPECT_EQ(gemm_tile_plan(0, 4, 4, 1000).status, kEmptyDimension);
  EXPECT_EQ(gemm_tile_plan(4, 4, INT64_MAX, 1000).status, kDimensionTooLarge);
  EXPECT_EQ(gemm_tile_plan(4, 4, INT64_MAX, 1000).tile_m, 0);
}

}  // namespace
}  // namespace krt::gemm
