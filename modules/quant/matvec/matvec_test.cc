#include "modules/quant/matvec/matvec.h"

#include <gtest/gtest.h>

#include <cmath>

#include "modules/quant/formats/formats.h"
#include "modules/quant/formats/list.h"
#include "modules/quant/matvec/matvec_testing.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::quant {
namespace {

using testing::GuardedBuffer;

// The oracle: the decoders, which equal the `gguf` package's (formats_test.cc), and sums in f64.
struct Problem {
  Problem(const Format& format, std::size_t rows, std::size_t cols, std::size_t n, std::uint64_t seed)
      : rows(rows),
        cols(cols),
        n(n),
        weights(random_weights(format, rows * cols, seed)),
        x(columns(cols, n, seed)),
        want(n * rows),
        bound(n * rows) {
    std::vector<float> w(rows * cols);
    format.decode(weights.cspan().data(), rows * cols / static_cast<std::size_t>(format.info.values), w.data());
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t r = 0; r < rows; ++r) {
        double sum = 0, magnitude = 0;
        for (std::size_t c = 0; c < cols; ++c) {
          const double term = static_cast<double>(w[r * cols + c]) * static_cast<double>(x.cspan()[j * cols + c]);
          sum += term;
          magnitude += std::fabs(term);
        }
        want[j * rows + r] = sum;
        const std::size_t steps = cols / kLanes;
        bound[j * rows + r] = (static_cast<double>(steps) + 6) * 0x1p-24 * magnitude;
      }
  }
  static std::vector<float> columns(std::size_t cols, std::size_t n, std::uint64_t seed) {
    return testing::Rng(seed + 1).normals<float>(cols * n);
  }
  std::size_t rows, cols, n;
  GuardedBuffer<std::uint8_t> weights;
  GuardedBuffer<float> x;
  std::vector<double> want, bound;
};

std::vector<float> run(MatVec* fn, const Problem& p) {
  GuardedBuffer<float> y(p.n * p.rows);
  fn(p.weights.cspan().data(), p.rows, p.cols, p.x.cspan().data(), p.n, y.data(), p.rows);
  return y.copy();
}

::testing::AssertionResult within(const std::vector<float>& got, const Problem& p) {
  return testing::all_within<float, double>(got, p.want, [&](std::size_t i, double) { return p.bound[i]; });
}

TEST(MatVec, EveryFormatAndVariantIsWithinTheBound) {
  for (const Format& format : formats()) {
    if (!format.weights) continue;
    SCOPED_TRACE(format.info.name);
    const auto block = static_cast<std::size_t>(format.info.values);
    for (const std::size_t cols : {block, 3 * block, block == 1 ? std::size_t{1061} : 5 * block})
      for (const std::size_t n : {1, 3, 8, 67}) {
        const Problem p(format, 5, cols, n, 20261130);
        const std::vector<float> plain = run(matvec_variants(format.index).back().run, p);
        for (const Variant<MatVec>& v : variants_here(matvec_variants(format.index))) {
          SCOPED_TRACE(v.name);
          testing::ValueCheck check("quant.matvec", v.name);
          const std::vector<float> y = run(v.run, p);
          EXPECT_TRUE(within(y, p)) << cols << " columns, n = " << n;
          EXPECT_TRUE(testing::same_bits<float>(y, plain));
        }
      }
  }
}

// Scales of every kind, infinite and NaN too: the plain form's value, or a NaN where it has one.
TEST(MatVec, AnyBytesWhatever) {
  for (const Format& format : formats()) {
    if (!format.weights) continue;
    SCOPED_TRACE(format.info.name);
    Problem p(format, 40, 512, 1, 77);
    testing::Rng rng(78);
    for (std::uint8_t& b : p.weights.span()) b = static_cast<std::uint8_t>(rng.integer(0, 255));
    const std::vector<float> plain = run(matvec_variants(format.index).back().run, p);
    for (const Variant<MatVec>& v : variants_here(matvec_variants(format.index))) {
      SCOPED_TRACE(v.name);
      const std::vector<float> y = run(v.run, p);
      for (std::size_t r = 0; r < p.rows; ++r)
        EXPECT_TRUE(y[r] == plain[r] || (std::isnan(y[r]) && std::isnan(plain[r])))
            << "row " << r << ": " << y[r] << ", plain " << plain[r];
    }
  }
}

TEST(MatVec, AColumnDoesNotDependOnItsNeighbours) {
  const Format& q4_k = *format_named("Q4_K");
  const Problem all(q4_k, 7, 512, 11, 5);
  MatVec* const fn = variants_here(matvec_variants(q4_k.index)).front().run;
  const std::vector<float> together = run(fn, all);
  for (std::size_t j = 0; j < all.n; ++j) {
    std::vector<float> alone(all.rows);
    fn(all.weights.cspan().data(), all.rows, all.cols, all.x.cspan().data() + j * all.cols, 1, alone.data(), all.rows);
    EXPECT_TRUE(testing::same_bits<float>(alone, std::span<const float>(together).subspan(j * all.rows, all.rows)));
  }
}

TEST(MatVec, ControlAWrongValueIsNoticed) {
  const Problem p(*format_named("Q6_K"), 3, 512, 1, 9);
  std::vector<float> y = run(variants_here(matvec_variants(format_named("Q6_K")->index)).front().run, p);
  ASSERT_TRUE(within(y, p));
  y[2] += static_cast<float>(3 * p.bound[2]);
  EXPECT_FALSE(within(y, p));
}

MatVecResult call(std::string_view type, std::span<const std::uint8_t> data, std::span<const float> x,
                  std::int64_t rows, std::int64_t cols, int threads = 1) {
  Arena arena(threads);
  HandleTable handles;
  Context context{arena, handles};
  return matvec(context, type, data, x, rows, cols);
}

TEST(MatVec, SameBitsAtEveryThreadCount) {
  const Problem p(*format_named("Q8_0"), 300, 512, 1, 3);
  const auto one = call("Q8_0", p.weights.cspan(), p.x.cspan(), 300, 512);
  ASSERT_EQ(one.status, kOk);
  for (const int threads : {2, 16})
    EXPECT_TRUE(testing::same_bits<float>(call("Q8_0", p.weights.cspan(), p.x.cspan(), 300, 512, threads).y, one.y));
}

TEST(MatVec, Refusals) {
  const std::vector<std::uint8_t> data(34);
  const std::vector<float> x(32);
  EXPECT_EQ(call("Q8_0", data, x, 1, 32).status, kOk);
  EXPECT_EQ(call("nope", data, x, 1, 32).status, kUnknownFormat);
  EXPECT_EQ(call("Q8_K", data, x, 1, 32).status, kNoMatVec);
  EXPECT_EQ(call("I32", data, x, 1, 32).status, kNoMatVec);
  EXPECT_EQ(call("Q8_0", data, x, 0, 32).status, kEmptyDimension);
  EXPECT_EQ(call("Q8_0", data, x, 1, -32).status, kEmptyDimension);
  EXPECT_EQ(call("Q8_0", data, x, 1, kMaxDim + 1).status, kDimensionTooLarge);
  EXPECT_EQ(call("Q8_0", data, x, 1, 33).status, kColumnsNotBlocks);
  EXPECT_EQ(call("Q8_0", data, x, 2, 32).status, kDataLengthMismatch);
  EXPECT_EQ(call("Q8_0", data, std::span(x).first(31), 1, 32).status, kOperandLengthMismatch);
}

}  // namespace
}  // namespace krt::quant
