#include "modules/quant/matvec_i16/matvec_i16.h"

#include <gtest/gtest.h>

#include <cmath>

#include "modules/quant/formats/formats.h"
#include "modules/quant/matvec/matvec_testing.h"
#include "modules/quant/matvec_i16/kernels.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::quant {
namespace {

using testing::GuardedBuffer;

// The oracle: the decoders, which equal the `gguf` package's (formats_test.cc), and sums in f64.
struct Problem {
  Problem(const Format& format, std::size_t rows, std::size_t cols, std::vector<float> columns, std::uint64_t seed)
      : rows(rows), n(columns.size() / cols), weights(random_weights(format, rows * cols, seed)), x(columns) {
    std::vector<float> w(rows * cols);
    format.decode(weights.cspan().data(), rows * cols / static_cast<std::size_t>(format.info.values), w.data());
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t r = 0; r < rows; ++r) add(w.data() + r * cols, columns.data() + j * cols, cols);
    rounded.resize(n, cols);
    rounded.round({0, n}, x.cspan().data());
  }
  // Minima are at most 3 times the largest weight of 32 where their codes take both of their ends, as random ones do.
  void add(const float* w, const float* x_of, std::size_t cols) {
    double sum = 0, rounding = 0, sums = 0;
    for (std::size_t b = 0; b < cols; b += 32) {
      double m = 0, weight = 0, largest = 0, size = 0;
      for (std::size_t c = b; c < b + 32; ++c) {
        sum += double{w[c]} * double{x_of[c]};
        m = std::max(m, std::fabs(double{x_of[c]}));
        weight += std::fabs(double{w[c]});
        largest = std::max(largest, std::fabs(double{w[c]}));
        size += std::fabs(double{x_of[c]});
      }
      rounding += m * std::exp2(-15.9) * weight;
      sums += 7 * largest * size;
    }
    want.push_back(sum);
    const std::size_t blocks = cols / 32;
    sum_bound.push_back((static_cast<double>(blocks) + 10) * 0x1p-24 * sums);
    bound.push_back(rounding + sum_bound.back());
  }
  std::size_t rows, n;
  GuardedBuffer<std::uint8_t> weights;
  GuardedBuffer<float> x;
  RoundedColumns rounded;
  std::vector<double> want, bound, sum_bound;  // sum_bound: of x that rounding leaves as they are
};

std::vector<float> run(MatVecI16* fn, const Problem& p) {
  GuardedBuffer<float> y(p.n * p.rows);
  fn(p.weights.cspan().data(), p.rows, p.rounded, y.data(), p.rows);
  return y.copy();
}

::testing::AssertionResult within(const std::vector<float>& got, const std::vector<double>& want,
                                  const std::vector<double>& bound) {
  return testing::all_within<float, double>(got, want, [&](std::size_t i, double) { return bound[i]; });
}

template <class Fn>
void for_formats(const Fn& fn) {
  std::size_t served = 0;
  for (const Format& format : formats()) {
    if (!format.weights || matvec_i16_variants(format.index).empty()) continue;
    ++served;
    SCOPED_TRACE(format.info.name);
    fn(format, static_cast<std::size_t>(format.info.values));
  }
  EXPECT_EQ(served, 15U);
}

bool fused(Isa isa) { return isa != Isa::kSse4 && isa != Isa::kScalar; }

TEST(MatVecI16, EveryFormatAndVariantIsWithinTheBound) {
  for_formats([](const Format& format, std::size_t block) {
    for (const std::size_t cols : {block, 3 * block, 1024 + 2 * block})
      for (const std::size_t n : {1, 3, 8, 67}) {
        const Problem p(format, 5, cols, testing::Rng(cols + n).normals<float>(cols * n), 20261130);
        std::vector<float> first;
        for (const Variant<MatVecI16>& v : variants_here(matvec_i16_variants(format.index))) {
          SCOPED_TRACE(v.name);
          testing::ValueCheck check("quant.matvec_i16", v.name);
          const std::vector<float> y = run(v.run, p);
          EXPECT_TRUE(within(y, p.want, p.bound)) << cols << " columns, n = " << n;
          if (!fused(v.isa)) continue;
          if (first.empty()) first = y;
          EXPECT_TRUE(testing::same_bits<float>(y, first));
        }
      }
  });
}

// Whole numbers with 32767 among each 32 keep their values, so that only the sums are off: 2^-8 of the other bound.
TEST(MatVecI16, WholeNumbersAreNotRounded) {
  for_formats([](const Format& format, std::size_t block) {
    testing::Rng rng(7);
    std::vector<float> x(2 * block * 3);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = i % 32 == 5 ? 32767.0F : static_cast<float>(rng.integer(-32767, 32767));
    const Problem p(format, 6, 2 * block, x, 11);
    for (const Variant<MatVecI16>& v : variants_here(matvec_i16_variants(format.index))) {
      SCOPED_TRACE(v.name);
      EXPECT_TRUE(within(run(v.run, p), p.want, p.sum_bound));
    }
  });
}

TEST(MatVecI16, AColumnDoesNotDependOnItsNeighbours) {
  for (const char* name : {"Q4_K", "Q6_K", "Q4_1", "Q8_0"}) {
    const Format& format = *format_named(name);
    const std::size_t cols = 1536;
    const std::vector<float> x = testing::Rng(5).normals<float>(11 * cols);
    const Problem all(format, 7, cols, x, 5);
    for (const Variant<MatVecI16>& v : variants_here(matvec_i16_variants(format.index))) {
      SCOPED_TRACE(v.name);
      const std::vector<float> together = run(v.run, all);
      for (std::size_t j = 0; j < all.n; ++j) {
        const auto column = x.begin() + static_cast<std::ptrdiff_t>(j * cols);
        const Problem alone(format, 7, cols, {column, column + static_cast<std::ptrdiff_t>(cols)}, 5);
        EXPECT_TRUE(testing::same_bits<float>(run(v.run, alone), std::span<const float>(together).subspan(j * 7, 7)));
      }
    }
  }
}

TEST(MatVecI16, RoundingIsTheSameInEveryVariant) {
  std::vector<float> x = testing::Rng(3).normals<float>(8 * 32);
  std::fill_n(x.begin() + 32, 32, 0.0F);
  std::fill_n(x.begin() + 64, 32, 1e-30F);
  x[100] = std::numeric_limits<float>::infinity();
  x[130] = std::numeric_limits<float>::quiet_NaN();
  for (int i = 160; i < 192; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i - 176) + 0.5F;  // ties
  x[200] = std::numeric_limits<float>::max();
  struct Rounded {
    std::vector<std::int16_t> q = std::vector<std::int16_t>(256);
    std::vector<float> scales32 = std::vector<float>(8), sums32 = scales32, scales16 = std::vector<float>(16),
                       sums16 = scales16;
  };
  const auto round = [&](RoundColumn* fn) {
    Rounded out;
    fn(x.data(), x.size(), out.q.data(), out.scales32.data(), out.sums32.data(), out.scales16.data(),
       out.sums16.data());
    return out;
  };
  const Rounded plain = round(round_column_plain);
  EXPECT_EQ(plain.scales32[1], 0);
  EXPECT_EQ(plain.scales32[2], 0);
  EXPECT_TRUE(std::isnan(plain.scales32[3]) && std::isnan(plain.scales32[4]));
  for (std::size_t i = 0; i < 32; ++i) {
    const float m = plain.scales32[0] * 32767;
    EXPECT_NEAR(plain.scales32[0] * plain.q[i], x[i], m * 0x1.1p-16F);
  }
  for (const Variant<RoundColumn>& v : variants_here(round_column_variants())) {
    SCOPED_TRACE(v.name);
    const Rounded got = round(v.run);
    EXPECT_EQ(got.q, plain.q);
    const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << i << ": " << a[i] << ", " << b[i];
    };
    same(got.scales32, plain.scales32);
    same(got.sums32, plain.sums32);
    same(got.scales16, plain.scales16);
    same(got.sums16, plain.sums16);
  }
}

TEST(MatVecI16, ControlAWrongValueIsNoticed) {
  const Problem p(*format_named("Q6_K"), 3, 512, testing::Rng(9).normals<float>(512), 9);
  std::vector<float> y = run(variants_here(matvec_i16_variants(format_named("Q6_K")->index)).front().run, p);
  ASSERT_TRUE(within(y, p.want, p.bound));
  y[2] += static_cast<float>(3 * p.bound[2]);
  EXPECT_FALSE(within(y, p.want, p.bound));
}

MatVecResult call(std::string_view type, std::span<const std::uint8_t> data, std::span<const float> x,
                  std::int64_t rows, std::int64_t cols, int threads = 1) {
  Arena arena(threads);
  HandleTable handles;
  Context context{arena, handles};
  return matvec_i16(context, type, data, x, rows, cols);
}

TEST(MatVecI16, SameBitsAtEveryThreadCount) {
  const Problem p(*format_named("Q8_0"), 300, 512, testing::Rng(3).normals<float>(512), 3);
  const auto one = call("Q8_0", p.weights.cspan(), p.x.cspan(), 300, 512);
  ASSERT_EQ(one.status, kOk);
  EXPECT_TRUE(within(one.y, p.want, p.bound));
  for (const int threads : {2, 16})
    EXPECT_TRUE(testing::same_bits<float>(call("Q8_0", p.weights.cspan(), p.x.cspan(), 300, 512, threads).y, one.y));
}

TEST(MatVecI16, SpoiltValuesSpread) {
  const Problem p(*format_named("Q4_1"), 4, 64, testing::Rng(3).normals<float>(64), 3);
  std::vector<float> x(p.x.cspan().begin(), p.x.cspan().end());
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    x[40] = bad;
    for (const float y : call("Q4_1", p.weights.cspan(), x, 4, 64).y) EXPECT_TRUE(std::isnan(y));
  }
}

TEST(MatVecI16, Refusals) {
  const std::vector<std::uint8_t> data(34), floats(64);
  const std::vector<float> x(32);
  EXPECT_EQ(call("Q8_0", data, x, 1, 32).status, kOk);
  EXPECT_EQ(call("nope", data, x, 1, 32).status, kUnknownFormat);
  EXPECT_EQ(call("F16", floats, x, 1, 32).status, kNoMatVec);
  EXPECT_EQ(call("Q8_0", data, x, 0, 32).status, kEmptyDimension);
  EXPECT_EQ(call("Q8_0", data, x, 2, 32).status, kDataLengthMismatch);
  EXPECT_EQ(call("Q8_0", data, std::span(x).first(31), 1, 32).status, kOperandLengthMismatch);
}

}  // namespace
}  // namespace krt::quant
