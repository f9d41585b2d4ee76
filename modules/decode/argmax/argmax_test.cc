#include "modules/decode/argmax/argmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "modules/decode/contract/contract.h"
#include "runtime/core/half.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/value_check.h"

namespace krt::decode {
namespace {

using testing::GuardedBuffer;
using testing::Rng;
using testing::ValueCheck;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

// The oracle, from the rule's words: the index that no other beats. a beats b where it is NaN and b is not, or is
// greater; between equals the lower index wins.
std::size_t oracle(std::span<const float> x) {
  const auto first_nan = std::find_if(x.begin(), x.end(), [](float v) { return std::isnan(v); });
  if (first_nan != x.end()) return static_cast<std::size_t>(first_nan - x.begin());
  return static_cast<std::size_t>(std::max_element(x.begin(), x.end()) - x.begin());
}

struct Fixture {
  explicit Fixture(std::string_view variant = {}) { context.force_variant = variant; }
  Arena arena{1};
  HandleTable handles;
  Context context{arena, handles};
};

// Asserts the answer of every variant for one row in a guarded buffer.
void check_row(const std::vector<float>& row, const std::string& what) {
  const GuardedBuffer<float> x{std::span<const float>(row)};
  const std::size_t want = oracle(row);
  for (const auto& variant : variants_here(argmax_variants())) {
    Fixture f(variant.name);
    const ArgmaxResult r = argmax(f.context, x.cspan());
    EXPECT_EQ(r.status, kOk);
    EXPECT_EQ(r.token_id, static_cast<std::int64_t>(want)) << variant.name << ", " << row.size() << " values, " << what;
    EXPECT_TRUE(r.logit == double{row[want]} || std::isnan(row[want])) << variant.name;
    EXPECT_EQ(f.context.variant, variant.name);
  }
}

class ArgmaxSizes : public ::testing::TestWithParam<std::size_t> {};

// Wherever the largest value, a tie or a NaN stands: at the ends, around the blocks of the search, in the tail.
TEST_P(ArgmaxSizes, EveryVariantFindsItWhereverItStands) {
  const std::size_t n = GetParam();
  Rng rng(20270421);
  SCOPED_TRACE(rng.trace());
  std::vector<std::unique_ptr<ValueCheck>> checks;
  for (const auto& variant : variants_here(argmax_variants()))
    checks.push_back(std::make_unique<ValueCheck>("decode.argmax", variant.name));
  const std::vector<float> base = rng.normals<float>(n);
  check_row(base, "random");
  for (const std::size_t at : {std::size_t{0}, n / 2, n - 1, std::size_t{1023}, std::size_t{1024}, n - n % 64}) {
    if (at >= n) continue;
    std::vector<float> row = base;
    row[at] = 100;
    check_row(row, "largest");
    row[n - 1] = 100;
    check_row(row, "tie");
    row[at] = kNan;
    check_row(row, "NaN");
    row[n - 1] = -kNan;
    check_row(row, "two NaN");
    row[0] = kInf;
    check_row(row, "NaN after infinity");
  }
}

TEST_P(ArgmaxSizes, OfEqualValuesTheLowestIndexWins) {
  const std::size_t n = GetParam();
  check_row(std::vector<float>(n, -kInf), "all -inf");
  check_row(std::vector<float>(n, kInf), "all inf");
  check_row(std::vector<float>(n, kNan), "all NaN");
  std::vector<float> zeros(n, -0.0F);
  zeros[n / 2] = 0.0F;
  check_row(zeros, "-0 equals +0");
}

INSTANTIATE_TEST_SUITE_P(Sizes, ArgmaxSizes,
                         ::testing::Values(1, 2, 3, 15, 16, 63, 64, 65, 127, 1000, 1023, 1024, 1025, 2048, 4100, 32000,
                                           128256, 151936));

TEST(Argmax, ManyTiedRowsAgainstTheOracle) {
  Rng rng(20270422);
  SCOPED_TRACE(rng.trace());
  for (int round = 0; round < 2000; ++round) {
    std::vector<float> row(static_cast<std::size_t>(rng.integer(1, 300)));
    for (float& x : row) x = static_cast<float>(rng.integer(-3, 3));
    check_row(row, "few values");
  }
}

TEST(Argmax, ControlTheWrongIndexIsNoticed) {
  const std::vector<float> row{1, 3, 2, 3};
  Fixture f;
  EXPECT_EQ(argmax(f.context, row).token_id, 1);
  EXPECT_NE(oracle(row), 3U) << "the oracle tells the first of a tie from the last";
}

TEST(Argmax, HalfTypesAndRefusals) {
  const std::vector<BF16> half{to_bf16(1), to_bf16(2.5F), to_bf16(2)};
  Fixture f;
  const ArgmaxResult r = argmax(f.context, std::span(half));
  EXPECT_EQ(r.token_id, 1);
  EXPECT_EQ(r.logit, 2.5);
  const ArgmaxResult none = argmax(f.context, std::vector<float>{});
  EXPECT_EQ(none.status, kEmptyDimension);
  EXPECT_EQ(none.token_id, -1);
  EXPECT_EQ(none.logit, 0);
}

}  // namespace
}  // namespace krt::decode
