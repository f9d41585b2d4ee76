// The passes over a row: every form against the plain one, bit for bit, and the weight against exp.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "modules/decode/sample/row.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/tolerance.h"

namespace krt::decode {
namespace {

using testing::Guard;
using testing::GuardedBuffer;
using testing::Rng;
using testing::same_bits;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::size_t kSizes[] = {1, 2, 15, 16, 17, 63, 64, 65, 127, 1000, 1023, 1024, 1025, 4099};

std::vector<float> random_row(Rng& rng, std::size_t n) {
  std::vector<float> row = rng.normals<float>(n, 8);
  for (float& x : row)
    if (rng.integer(0, 15) == 0) x = rng.integer(0, 1) == 0 ? -kInf : 1.25F;
  row[n / 2] = 20;
  return row;
}

struct Looked {
  RowScan scan;
  std::vector<float> block_max;
  double weight, moment;
  std::vector<float> scores;
  std::vector<std::uint32_t> positions;
  std::vector<double> weights;
};

Looked look(const RowPasses& passes, std::span<const float> row, float temperature, float at_least) {
  const std::size_t n = row.size();
  Looked out;
  out.block_max.resize((n + kBlock - 1) / kBlock);
  out.scan = passes.scan(row.data(), n, out.block_max.data());
  const float max = scaled(*std::max_element(out.block_max.begin(), out.block_max.end()), temperature);
  out.weight = passes.weight_sum(row.data(), n, temperature, max);
  out.moment = passes.moment_sum(row.data(), n, temperature, max);
  const auto hits = std::make_unique<Hits>();
  const std::size_t looked_at = std::min(n, kChunk);
  const std::size_t found =
      passes.collect(row.data(), looked_at, out.block_max.data(), at_least, temperature, max, *hits);
  out.scores.assign(hits->score, hits->score + found);
  out.positions.assign(hits->position, hits->position + found);
  out.weights.assign(hits->weight, hits->weight + found);
  return out;
}

TEST(RowPasses, EveryFormHasTheBitsOfThePlainOne) {
  Rng rng(20261130);
  SCOPED_TRACE(rng.trace());
  for (const std::size_t n : kSizes) {
    for (const Guard guard : {Guard::kAfter, Guard::kBefore}) {
      const GuardedBuffer<float> row(random_row(rng, n), guard);
      for (const float at_least : {-kInf, -8.0F, 1.25F, 20.0F, kInf}) {
        const Looked want = look(scalar_passes(), row.cspan(), 0.7F, at_least);
        for (const auto& form : variants_here(row_variants())) {
          SCOPED_TRACE(std::string(form.name) + ", " + std::to_string(n) + " values");
          const Looked got = look(form.run(), row.cspan(), 0.7F, at_least);
          EXPECT_FALSE(got.scan.nan);
          EXPECT_EQ(got.scan.min, want.scan.min);
          EXPECT_TRUE(same_bits<float>(got.block_max, want.block_max));
          EXPECT_TRUE(same_bits<double>({&got.weight, 1}, {&want.weight, 1}));
          EXPECT_TRUE(same_bits<double>({&got.moment, 1}, {&want.moment, 1}));
          EXPECT_TRUE(same_bits<float>(got.scores, want.scores));
          EXPECT_TRUE(same_bits<double>(got.weights, want.weights));
          EXPECT_EQ(got.positions, want.positions);
        }
      }
    }
  }
}

TEST(RowPasses, ANanIsSeenWhereverItStands) {
  for (const auto& form : variants_here(row_variants())) {
    for (std::size_t i = 0; i < 131; ++i) {
      std::vector<float> row(131, -1);
      row[i] = std::nanf("");
      float block_max[3];
      EXPECT_TRUE(form.run().scan(row.data(), row.size(), block_max).nan) << form.name << " at " << i;
    }
  }
}

TEST(RowPasses, PlainSumsAgainstLongDouble) {
  Rng rng(7);
  SCOPED_TRACE(rng.trace());
  const std::vector<float> row = random_row(rng, 4099);
  const Looked got = look(scalar_passes(), row, 1.0F, kInf);
  const float max = *std::max_element(row.begin(), row.end());
  long double weight = 0;
  long double moment = 0;
  for (const float x : row) {
    if (x == -kInf) continue;
    const long double d = static_cast<long double>(x - max);
    weight += std::exp(d);
    moment += std::exp(d) * d;
  }
  EXPECT_NEAR(got.weight, static_cast<double>(weight), 0x1p-37 * static_cast<double>(weight));
  EXPECT_NEAR(got.moment, static_cast<double>(moment), -0x1p-36 * static_cast<double>(moment));
}

TEST(Weight, IsExpWithinItsBound) {
  double worst = 0;
  for (float d = 0; d > kLowest; d = d * 1.001F - 1e-4F) {
    const long double want = std::exp(static_cast<long double>(d));
    worst = std::max(worst, static_cast<double>(std::fabs(static_cast<long double>(weight_of(d, 0)) / want - 1)));
  }
  EXPECT_LE(worst, 0x1p-37);
  EXPECT_GT(worst, 0x1p-41);  // a control: the bound is one that this polynomial comes near
}

TEST(Weight, ExactAtTheEnds) {
  EXPECT_EQ(weight_of(5, 5), 1.0);
  EXPECT_EQ(weight_of(-kInf, 5), weight_of(kLowest, 0));
  EXPECT_EQ(weight_of(-1e30F, 1e30F), weight_of(kLowest, 0));
  EXPECT_GT(weight_of(kLowest, 0), 3e-308);
  // A difference that f32 would round to -12.5: 1e-8 of the weight, where a token may stand on a bound.
  EXPECT_NEAR(weight_of(1e-8F, 12.5F) / std::exp(double{1e-8F} - 12.5), 1, 0x1p-37);
}

}  // namespace
}  // namespace krt::decode
