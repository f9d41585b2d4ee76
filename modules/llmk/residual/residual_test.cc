#include "modules/llmk/residual/residual.h"

#include <gtest/gtest.h>

#include "modules/llmk/contract/contract.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::llmk {
namespace {

using testing::GuardedBuffer;
using testing::Rng;
using testing::same_bits;
using testing::TestContext;
using testing::ValueCheck;

// The oracle: one addition per element, in long double, rounded once. For two doubles this is the IEEE sum.
std::vector<double> oracle(std::span<const double> a, std::span<const double> b) {
  std::vector<double> out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = static_cast<double>(static_cast<long double>(a[i]) + b[i]);
  return out;
}

ResidResult add(std::span<const double> a, std::span<const double> b, std::int64_t n, int threads = 1) {
  return residual_add_flat(TestContext(threads), a, b, n);
}

TEST(Residual, DocumentedExample) {
  const std::vector<double> a{0, 1, 2, 3, 4, 5}, b{10, 9, 8, 7, 6, 5};
  const ResidResult r = add(a, b, 6);
  EXPECT_EQ(r.out, std::vector<double>(6, 10.0));
  EXPECT_EQ(r.n, 6);
  EXPECT_EQ(r.status, 560);
}

TEST(Residual, MatchesOracleAtEverySizeAndThreadCount) {
  ValueCheck check("llmk.residual.residual_add_flat");
  Rng rng(20261130);
  SCOPED_TRACE(rng.trace());
  for (const std::size_t n : {1, 2, 7, 4096, 32767, 32768, 32769, 100001}) {
    const GuardedBuffer<double> a(rng.normals<double>(n)), b(rng.normals<double>(n));
    const std::vector<double> want = oracle(a.cspan(), b.cspan());
    for (const int threads : {1, 2, 16}) {
      const ResidResult r = add(a.cspan(), b.cspan(), static_cast<std::int64_t>(n), threads);
      EXPECT_TRUE(same_bits<double>(r.out, want)) << n << " values, " << threads << " threads";
      EXPECT_EQ(r.status, kOk);
    }
  }
}

TEST(Residual, ControlAWrongElementIsNoticed) {
  const std::vector<double> a{1, 2, 3}, b{4, 5, 6};
  ResidResult r = add(a, b, 3);
  r.out[2] = std::nextafter(r.out[2], 0.0);
  EXPECT_FALSE(same_bits<double>(r.out, oracle(a, b)));
}

TEST(Residual, RefusesWrongDimensions) {
  const std::vector<double> six(6, 1.0), two(2, 1.0);
  const struct {
    std::span<const double> a, b;
    std::int64_t n, status;
  } rows[] = {
      {six, six, 0, kEmptyDimension},  {six, six, -6, kEmptyDimension}, {six, six, kMaxDim + 1, kDimensionTooLarge},
      {two, six, 6, kALengthMismatch}, {six, two, 6, kBLengthMismatch}, {two, two, 6, kALengthMismatch},
      {six, six, 5, kALengthMismatch}, {{}, {}, 0, kEmptyDimension},
  };
  for (const auto& row : rows) {
    const ResidResult r = add(row.a, row.b, row.n);
    EXPECT_EQ(r.status, row.status);
    EXPECT_TRUE(r.out.empty());
    EXPECT_EQ(r.n, 0);
  }
}

TEST(Residual, NonFiniteValuesFollowIeee) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> a{inf, inf, 1, -0.0}, b{-inf, 1, std::nan(""), -0.0};
  const ResidResult r = add(a, b, 4);
  EXPECT_TRUE(std::isnan(r.out[0]));
  EXPECT_EQ(r.out[1], inf);
  EXPECT_TRUE(std::isnan(r.out[2]));
  EXPECT_TRUE(std::signbit(r.out[3]));
}

}  // namespace
}  // namespace krt::llmk
