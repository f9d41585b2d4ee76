#include "modules/mlpk/embedding/embedding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "modules/mlpk/contract/contract.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::mlpk {
namespace {

using testing::all_close;
using testing::fixture;
using testing::FixtureCase;
using testing::GuardedBuffer;
using testing::Rng;
using testing::same_bits;
using testing::TestContext;
using testing::ValueCheck;

TEST(Embedding, MatchesTorchForwardAndBackward) {
  ValueCheck forward("mlpk.embedding.embedding_fwd_flat"), backward("mlpk.embedding.embedding_bwd_flat");
  int found = 0;
  for (const FixtureCase& c : fixture("mlpk")) {
    if (c.text("kind") != "embedding") continue;
    SCOPED_TRACE(c.name());
    ++found;
    const GuardedBuffer<double> weight(c.f64s("weight")), dy(c.f64s("dy"));
    const GuardedBuffer<std::int64_t> ids(c.i64s("ids"));
    const std::int64_t n_tok = c.integer("n_tok"), vocab = c.integer("vocab"), d_model = c.integer("d_model");
    const EmbedOut out = embedding_fwd_flat(TestContext(), weight.cspan(), ids.cspan(), n_tok, vocab, d_model);
    EXPECT_TRUE(same_bits<double>(out.y, c.f64s("y")));
    EXPECT_EQ(out.n_tok, n_tok);
    EXPECT_EQ(out.status, kOk);
    const EmbedGrad grad = embedding_bwd_flat(TestContext(), dy.cspan(), ids.cspan(), n_tok, vocab, d_model);
    // Values of three decimals below 5: sums of a few agree to 2^-49 whatever their order.
    EXPECT_TRUE((all_close<double, double>(grad.d_weight, c.f64s("d_weight"), 0, 0x1p-49)));
    EXPECT_EQ(grad.n_touched, c.integer("n_touched"));
    EXPECT_EQ(grad.vocab, vocab);
  }
  EXPECT_EQ(found, 3);
}

TEST(Embedding, ControlARowTooFarIsNoticed) {
  const std::vector<double> weight{1, 2, 3, 4};
  const EmbedOut out = embedding_fwd_flat(TestContext(), weight, std::vector<std::int64_t>{1}, 1, 2, 2);
  EXPECT_EQ(out.y, (std::vector<double>{3, 4}));
  EXPECT_FALSE(same_bits<double>(out.y, std::vector<double>{1, 2}));
}

TEST(Embedding, GradientSumsInTheOrderOfTheTokens) {
  // (1 + 2^-53) + 2^-53 is 1 in that order and 1 + 2^-52 in the other.
  const std::vector<double> dy{1, 0x1p-53, 0x1p-53}, reversed{0x1p-53, 0x1p-53, 1};
  const std::vector<std::int64_t> ids{0, 0, 0};
  EXPECT_EQ(embedding_bwd_flat(TestContext(), dy, ids, 3, 1, 1).d_weight[0], 1);
  EXPECT_EQ(embedding_bwd_flat(TestContext(), reversed, ids, 3, 1, 1).d_weight[0], 1 + 0x1p-52);
}

TEST(Embedding, SameBitsAtEveryThreadCount) {
  Rng rng(20261221);
  SCOPED_TRACE(rng.trace());
  const std::int64_t n_tok = 500, vocab = 37, d_model = 131;
  const auto weight = rng.normals<double>(static_cast<std::size_t>(vocab * d_model)),
             dy = rng.normals<double>(static_cast<std::size_t>(n_tok * d_model));
  std::vector<std::int64_t> ids(static_cast<std::size_t>(n_tok));
  for (auto& id : ids) id = rng.integer(0, vocab - 1);
  const EmbedOut one = embedding_fwd_flat(TestContext(), weight, ids, n_tok, vocab, d_model);
  const EmbedGrad grad = embedding_bwd_flat(TestContext(), dy, ids, n_tok, vocab, d_model);
  for (const int threads : {2, 16}) {
    EXPECT_TRUE(
        same_bits<double>(embedding_fwd_flat(TestContext(threads), weight, ids, n_tok, vocab, d_model).y, one.y));
    EXPECT_TRUE(same_bits<double>(embedding_bwd_flat(TestContext(threads), dy, ids, n_tok, vocab, d_model).d_weight,
                                  grad.d_weight));
  }
}

TEST(Embedding, IdsInRange) {
  ValueCheck check("mlpk.embedding.embedding_ids_in_range");
  const std::vector<std::int64_t> ids{0, 2, 1}, none;
  EXPECT_TRUE(embedding_ids_in_range(ids, 3, 3));
  EXPECT_FALSE(embedding_ids_in_range(ids, 3, 2));
  EXPECT_FALSE(embedding_ids_in_range(ids, 2, 3));
  EXPECT_FALSE(embedding_ids_in_range(ids, 4, 3));
  EXPECT_FALSE(embedding_ids_in_range(ids, 3, INT64_MIN));
  EXPECT_FALSE(embedding_ids_in_range(none, 0, 3));
  EXPECT_FALSE(embedding_ids_in_range(std::vector<std::int64_t>{-1}, 1, 3));
  EXPECT_FALSE(embedding_ids_in_range(std::vector<std::int64_t>{INT64_MAX}, 1, INT64_MAX));
}

TEST(Embedding, RefusesWrongDimensionsAndIds) {
  const std::vector<double> six(6, 1.0), four(4, 1.0), none;
  const std::vector<std::int64_t> two{0, 2}, three{0, 1, 2}, high{0, 3}, low{-1, 0};
  const struct {
    std::span<const double> values;  // weight and dy: vocab 3 and n_tok 2 of d_model 2; four is dy's length
    std::span<const std::int64_t> ids;
    std::int64_t n_tok, vocab, d_model, fwd;
  } rows[] = {
      {six, two, 0, 3, 2, kEmptyDimension},
      {six, two, 2, INT64_MIN, 2, kEmptyDimension},
      {six, two, 2, 3, INT64_MAX, kDimensionTooLarge},
      {none, two, kMaxDim, 1, kMaxDim, kDimensionTooLarge},
      {four, two, 2, 3, 2, kWeightLengthMismatch},
      {six, three, 2, 3, 2, kBLengthMismatch},
      {six, high, 2, 3, 2, kIdOutOfRange},
      {six, low, 2, 3, 2, kIdOutOfRange},
  };
  for (const auto& row : rows) {
    const EmbedOut out = embedding_fwd_flat(TestContext(), row.values, row.ids, row.n_tok, row.vocab, row.d_model);
    EXPECT_EQ(out.status, row.fwd);
    EXPECT_TRUE(out.y.empty());
    // The same for the gradient, whose dy is as long as the weight is not.
    const auto dy = row.fwd == kWeightLengthMismatch ? std::span<const double>(six) : std::span<const double>(four);
    const std::int64_t want = row.fwd == kWeightLengthMismatch ? std::int64_t{kGradLengthMismatch} : row.fwd;
    const EmbedGrad grad = embedding_bwd_flat(TestContext(), dy, row.ids, row.n_tok, row.vocab, row.d_model);
    EXPECT_EQ(grad.status, want);
    EXPECT_TRUE(grad.d_weight.empty());
    EXPECT_EQ(grad.n_touched, 0);
  }
}

}  // namespace
}  // namespace krt::mlpk
