#include "modules/attnk/mask/mask.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "modules/attnk/contract/contract.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::attnk {
namespace {

using testing::fixture;
using testing::FixtureCase;
using testing::same_bits;
using testing::ValueCheck;

constexpr double kX = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

void expect_mask(const MaskSpec& got, std::span<const double> want, std::int64_t s_q, std::int64_t s_k) {
  EXPECT_EQ(got.status, kOk);
  EXPECT_TRUE(same_bits<double>(got.bias, want));
  EXPECT_EQ(got.s_q, s_q);
  EXPECT_EQ(got.s_k, s_k);
  EXPECT_EQ(got.n_masked, std::count(want.begin(), want.end(), kX));
}

TEST(Mask, CausalAndWindowMatchTorch) {
  ValueCheck causal("attnk.mask.mask_causal_flat");
  ValueCheck window("attnk.mask.mask_sliding_window_flat");
  for (const FixtureCase& c : fixture("attnk_mask")) {
    SCOPED_TRACE(c.name());
    const std::int64_t s_q = c.integer("s_q"), s_k = c.integer("s_k"), offset = c.integer("offset");
    expect_mask(mask_causal_flat(s_q, s_k, offset), c.f64s("causal"), s_q, s_k);
    expect_mask(mask_sliding_window_flat(s_q, s_k, 2, offset), c.f64s("window"), s_q, s_k);
    expect_mask(mask_sliding_window_flat(s_q, s_k, kMaxDim, offset), c.f64s("causal"), s_q, s_k);
  }
}

TEST(Mask, Padding) {
  ValueCheck check("attnk.mask.mask_padding_flat");
  expect_mask(mask_padding_flat(2, 2, 3), std::vector<double>{0, 0, kX, 0, 0, kX}, 2, 3);
  expect_mask(mask_padding_flat(3, 1, 3), std::vector<double>{0, 0, 0}, 1, 3);
  expect_mask(mask_padding_flat(0, 1, 2), std::vector<double>{kX, kX}, 1, 2);
}

TEST(Mask, BlockDiagonal) {
  ValueCheck check("attnk.mask.mask_block_diagonal_flat");
  const std::vector<std::int64_t> packed{0, 1, 1, 3};  // the second sequence is empty
  expect_mask(mask_block_diagonal_flat(packed, 3, 3, false), std::vector<double>{0, kX, kX, kX, 0, 0, kX, 0, 0}, 3, 3);
  expect_mask(mask_block_diagonal_flat(packed, 3, 3, true), std::vector<double>{0, kX, kX, kX, 0, kX, kX, 0, 0}, 3, 3);
}

TEST(Mask, CombineAdds) {
  ValueCheck check("attnk.mask.mask_combine_flat");
  expect_mask(mask_combine_flat(std::vector<double>{0, kX, 0, kX, -1}, std::vector<double>{0, 0, kX, kX, -2}, 5),
              std::vector<double>{0, kX, kX, kX, -3}, 1, 5);
}

TEST(Mask, RowFullyMasked) {
  ValueCheck check("attnk.mask.mask_row_fully_masked");
  const std::vector<double> second{0, kX, kX, kX}, none{0, kX, kX, -5};
  EXPECT_EQ(mask_row_fully_masked(second, 2, 2), 1);
  EXPECT_EQ(mask_row_fully_masked(none, 2, 2), -1);
  EXPECT_EQ(mask_row_fully_masked(second, 2, 3), -kBiasLengthMismatch);
  EXPECT_EQ(mask_row_fully_masked(second, 0, 4), -kEmptyDimension);
  EXPECT_EQ(mask_row_fully_masked(second, kHuge, kHuge), -kDimensionTooLarge);
}

TEST(Mask, Convention) {
  ValueCheck check("attnk.mask.mask_convention_agreement");
  const double nan = std::nan("");
  const struct {
    double query, key, logit, bias, masked;
    bool same;
  } rows[] = {{2, 1, 0.5, 0, 0.5, true}, {2, 2, 0.5, 0, 0.5, true},  {1, 2, 0.5, kX, kX, true},
              {1, 2, kX, kX, kX, true},  {1, 2, nan, kX, kX, false}, {1, 2, -kX, kX, kX, false},
              {2, 1, nan, 0, nan, true}, {nan, 1, 0.5, kX, kX, true}};
  for (const auto& r : rows) {
    const MaskConvention c = mask_convention_agreement(r.query, r.key, r.logit);
    EXPECT_EQ(c.additive_bias, r.bias);
    EXPECT_TRUE(c.masked_logit == r.masked || (std::isnan(c.masked_logit) && std::isnan(r.masked)));
    EXPECT_TRUE(c.input_logit == r.logit || (std::isnan(c.input_logit) && std::isnan(r.logit)));
    EXPECT_EQ(c.same_shape, r.same) << r.query << " " << r.key << " " << r.logit;
  }
}

TEST(Mask, Refusals) {
  const std::vector<std::int64_t> packed{0, 1, 3}, late{1, 3}, falling{0, 3, 2};
  const std::vector<double> three(3);
  const std::pair<MaskSpec, std::int64_t> rows[] = {
      {mask_causal_flat(0, 2, 0), kEmptyDimension},
      {mask_causal_flat(2, -2, 0), kEmptyDimension},
      {mask_causal_flat(kMaxDim + 1, 2, 0), kDimensionTooLarge},
      {mask_causal_flat(2, 2, kHuge), kDimensionTooLarge},
      {mask_causal_flat(2, 2, std::numeric_limits<std::int64_t>::min()), kDimensionTooLarge},
      {mask_causal_flat(kMaxDim, kMaxDim, 0), kTooLarge},
      {mask_sliding_window_flat(2, 2, 0, 0), kEmptyDimension},
      {mask_sliding_window_flat(2, 2, kHuge, 0), kDimensionTooLarge},
      {mask_padding_flat(-1, 2, 2), kParameterInvalid},
      {mask_padding_flat(3, 2, 2), kParameterInvalid},
      {mask_padding_flat(0, 0, 2), kEmptyDimension},
      {mask_block_diagonal_flat(packed, 1, 3, true), kListLengthMismatch},
      {mask_block_diagonal_flat(packed, 0, 3, true), kEmptyDimension},
      {mask_block_diagonal_flat(packed, 2, 4, true), kSequencesInvalid},
      {mask_block_diagonal_flat(late, 1, 3, true), kSequencesInvalid},
      {mask_block_diagonal_flat(falling, 2, 2, true), kSequencesInvalid},
      {mask_combine_flat(three, three, 2), kListLengthMismatch},
      {mask_combine_flat(three, {}, 3), kListLengthMismatch},
      {mask_combine_flat({}, {}, 0), kEmptyDimension},
  };
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    const MaskSpec& m = rows[i].first;
    EXPECT_EQ(m.status, rows[i].second) << i;
    EXPECT_TRUE(m.bias.empty() && m.s_q == 0 && m.s_k == 0 && m.n_masked == 0) << i;
  }
}

}  // namespace
}  // namespace krt::attnk
