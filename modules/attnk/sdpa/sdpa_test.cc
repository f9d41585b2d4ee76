#include "modules/attnk/sdpa/sdpa.h"

#include <gtest/gtest.h>

#include "modules/attnk/contract/contract.h"
#include "modules/attnk/sdpa/agreement.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::attnk {
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

const double kNan = std::nan("");
const double kInf = std::numeric_limits<double>::infinity();

struct Inputs {
  std::int64_t n_tok_q, n_tok_k, h_q, h_kv, d;
  double scale;
  std::vector<double> q, k, v, bias;

  [[nodiscard]] bool use_bias() const { return !bias.empty(); }
  [[nodiscard]] SdpaOut forward(int threads = 1) const {
    TestContext context(threads);
    return sdpa_forward_flat(context, q, k, v, bias, n_tok_q, n_tok_k, h_q, h_kv, d, scale, use_bias());
  }
  [[nodiscard]] SdpaScores scores(int threads = 1) const {
    TestContext context(threads);
    return sdpa_scores_flat(context, q, k, n_tok_q, n_tok_k, h_q, h_kv, d, scale);
  }
};

Inputs random(Rng& rng, std::int64_t n_tok_q, std::int64_t n_tok_k, std::int64_t h_q, std::int64_t h_kv,
              std::int64_t d) {
  const auto q = static_cast<std::size_t>(n_tok_q * h_q * d), kv = static_cast<std::size_t>(n_tok_k * h_kv * d);
  return {n_tok_q,
          n_tok_k,
          h_q,
          h_kv,
          d,
          1 / std::sqrt(static_cast<double>(d)),
          rng.normals<double>(q),
          rng.normals<double>(kv),
          rng.normals<double>(kv),
          {}};
}

Inputs inputs_of(const FixtureCase& c) {
  return {c.integer("n_tok_q"), c.integer("n_tok_k"), c.integer("h_q"), c.integer("h_kv"), c.integer("d"),
          c.number("scale"),    c.f64s("q"),          c.f64s("k"),      c.f64s("v"),       c.f64s("bias")};
}

// The textbook formula in long double, term by term, with the S of the contract's bound.
struct Exact {
  std::vector<double> out, lse, s;
};
Exact exact(const Inputs& in) {
  Exact e;
  for (std::int64_t i = 0; i < in.n_tok_q; ++i)
    for (std::int64_t h = 0; h < in.h_q; ++h) {
      std::vector<long double> weight;
      long double s = 0, sum = 0, top = -kInf;
      for (std::int64_t j = 0; j < in.n_tok_k; ++j) {
        long double score = 0, magnitude = 0;
        for (std::int64_t c = 0; c < in.d; ++c) {
          const long double term =
              static_cast<long double>(in.q[static_cast<std::size_t>((i * in.h_q + h) * in.d + c)]) *
              in.k[static_cast<std::size_t>((j * in.h_kv + h * in.h_kv / in.h_q) * in.d + c)];
          score += term;
          magnitude += std::fabs(term);
        }
        s = std::max(s, in.scale * magnitude);
        weight.push_back(in.scale * score +
                         (in.use_bias() ? in.bias[static_cast<std::size_t>(i * in.n_tok_k + j)] : 0));
        top = std::max(top, weight.back());
      }
      for (long double& w : weight) sum += w = top == -kInf ? 0 : std::exp(w - top);
      for (std::int64_t c = 0; c < in.d; ++c) {
        long double out = 0;
        for (std::int64_t j = 0; j < in.n_tok_k; ++j)
          if (weight[static_cast<std::size_t>(j)] != 0)
            out += weight[static_cast<std::size_t>(j)] / sum *
                   in.v[static_cast<std::size_t>((j * in.h_kv + h * in.h_kv / in.h_q) * in.d + c)];
        e.out.push_back(static_cast<double>(out));
      }
      e.lse.push_back(static_cast<double>(top + std::log(sum)));
      e.s.push_back(static_cast<double>(s));
    }
  return e;
}

void expect_within(const Inputs& in, const SdpaOut& got, std::span<const double> out, std::span<const double> lse,
                   double times) {
  const std::vector<double> s = exact(in).s;
  const double top = magnitude(in.v);
  const auto bound = [&](std::size_t row) {
    return times * sdpa_bound(static_cast<double>(in.n_tok_k), static_cast<double>(in.d), s[row]);
  };
  EXPECT_EQ(got.status, kOk);
  EXPECT_TRUE((all_within<double, double>(
      got.out, out, [&](std::size_t i, double) { return bound(i / static_cast<std::size_t>(in.d)) * top; })));
  EXPECT_TRUE((all_within<double, double>(
      got.lse, lse, [&](std::size_t i, double w) { return bound(i) + times * 0x1p-52 * std::fabs(w); })));
}

// torch rounds as we do, so twice the bound; masked rows included.
TEST(Sdpa, MatchesTorch) {
  ValueCheck check("attnk.sdpa.sdpa_forward_flat");
  for (const FixtureCase& c : fixture("attnk_sdpa")) {
    SCOPED_TRACE(c.name());
    const Inputs in = inputs_of(c);
    ASSERT_EQ(in.use_bias(), c.flag("use_bias"));
    const SdpaOut got = in.forward();
    expect_within(in, got, c.f64s("out"), c.f64s("lse"), 2);
    EXPECT_EQ(got.n_tok, in.n_tok_q);
    EXPECT_EQ(got.n_heads, in.h_q);
    EXPECT_EQ(got.head_dim, in.d);
  }
}

TEST(Sdpa, StaysWithinItsBoundAndThreadsChangeNoBits) {
  ValueCheck check("attnk.sdpa.sdpa_forward_flat");
  Rng rng(41);
  SCOPED_TRACE(rng.trace());
  const struct {
    std::int64_t n_tok_q, n_tok_k, h_q, h_kv, d;
    double scale;
  } shapes[] = {{1, 1, 1, 1, 1, 1}, {1, 300, 4, 2, 80, 1}, {9, 17, 6, 3, 33, 20}, {30, 31, 8, 1, 16, 0.01}};
  for (const auto& s : shapes) {
    Inputs in = random(rng, s.n_tok_q, s.n_tok_k, s.h_q, s.h_kv, s.d);
    in.scale *= s.scale;
    const Exact want = exact(in);
    const SdpaOut got = in.forward();
    expect_within(in, got, want.out, want.lse, 1);
    for (const int threads : {2, 16}) {
      EXPECT_TRUE(same_bits<double>(in.forward(threads).out, got.out));
      EXPECT_TRUE(same_bits<double>(in.forward(threads).lse, got.lse));
      EXPECT_TRUE(same_bits<double>(in.scores(threads).values, in.scores().values));
    }
  }
}

TEST(Sdpa, ControlAWrongKeyIsNoticed) {
  Rng rng(42);
  Inputs in = random(rng, 1, 50, 2, 1, 8);
  const Exact want = exact(in);
  in.k[17] += 1e-9;
  const double bound = sdpa_bound(50, 8, want.s[0]) * magnitude(in.v);
  EXPECT_FALSE((all_within<double, double>(in.forward().out, want.out, [&](std::size_t, double) { return bound; })));
}

TEST(Sdpa, ScoresAndSoftmaxComposeToTheWhole) {
  ValueCheck scores("attnk.sdpa.sdpa_scores_flat");
  ValueCheck softmax("attnk.sdpa.sdpa_softmax_rows_flat");
  Rng rng(43);
  SCOPED_TRACE(rng.trace());
  const Inputs in = random(rng, 3, 11, 4, 2, 5);
  TestContext context;
  const SdpaScores s = in.scores();
  ASSERT_EQ(s.status, kOk);
  EXPECT_EQ(s.n_heads, 4);
  EXPECT_EQ(s.rows, 3);
  EXPECT_EQ(s.cols, 11);
  for (std::size_t h = 0; h < 4; ++h)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 11; ++j) {
        long double want = 0;
        for (std::size_t c = 0; c < 5; ++c)
          want += static_cast<long double>(in.q[(i * 4 + h) * 5 + c]) * in.k[(j * 2 + h / 2) * 5 + c];
        EXPECT_NEAR(s.values[(h * 3 + i) * 11 + j], static_cast<double>(in.scale * want), 1e-14);
      }
  const SdpaScores p = sdpa_softmax_rows_flat(context, s.values, 12, 11);
  ASSERT_EQ(p.status, kOk);
  EXPECT_EQ(p.n_heads, 1);
  EXPECT_EQ(p.rows, 12);
  for (std::size_t row = 0; row < 12; ++row) {
    long double sum = 0;
    for (std::size_t j = 0; j < 11; ++j) sum += std::exp(static_cast<long double>(s.values[row * 11 + j]));
    for (std::size_t j = 0; j < 11; ++j)
      EXPECT_NEAR(p.values[row * 11 + j],
                  static_cast<double>(std::exp(static_cast<long double>(s.values[row * 11 + j])) / sum), 20 * 0x1p-52);
  }
  // The weighted values of these probabilities are the output, to the last bit.
  std::vector<double> out;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t h = 0; h < 4; ++h)
      for (std::size_t c = 0; c < 5; ++c) {
        double sum = 0;
        for (std::size_t j = 0; j < 11; ++j) sum += p.values[(h * 3 + i) * 11 + j] * in.v[(j * 2 + h / 2) * 5 + c];
        out.push_back(sum);
      }
  EXPECT_TRUE(same_bits<double>(out, in.forward().out));
}

TEST(Sdpa, SoftmaxRowsOfAwkwardScores) {
  TestContext context;
  const std::vector<double> rows{1e4, 1e4, -kInf, -kInf, -kInf, -kInf, kInf, 0, 1, 0, kNan, 0, -1e308, -1e308, 1e308};
  const SdpaScores p = sdpa_softmax_rows_flat(context, rows, 5, 3);
  const std::vector<double> want{0.5, 0.5, 0, 0, 0, 0, kNan, kNan, kNan, kNan, kNan, kNan, 0, 0, 1};
  EXPECT_TRUE((all_close<double, double>(p.values, want, 0)));
}

TEST(Sdpa, MaskedKeysAreNotReadAndMaskedRowsAreZero) {
  Rng rng(44);
  Inputs in = random(rng, 2, 3, 2, 1, 4);
  in.bias = {0, -kInf, 0, -kInf, -kInf, -kInf};
  const SdpaOut clean = in.forward();
  for (std::size_t c = 0; c < 4; ++c) in.k[4 + c] = in.v[4 + c] = c % 2 == 0 ? kNan : kInf;
  const SdpaOut spoiled = in.forward();
  EXPECT_TRUE(same_bits<double>(spoiled.out, clean.out));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(std::isfinite(clean.out[i]));
    EXPECT_EQ(clean.out[8 + i], 0);
  }
  EXPECT_EQ(clean.lse[2], -kInf);
  EXPECT_EQ(clean.lse[3], -kInf);
}

TEST(Sdpa, NanReachesWhatSeesIt) {
  Rng rng(45);
  const Inputs sound = random(rng, 2, 3, 2, 1, 4);
  Inputs in = sound;
  in.q[0] = kNan;  // query 0, head 0
  SdpaOut got = in.forward();
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(got.out[i]), i < 4) << i;
  in = sound;
  in.v[1] = kNan;  // column 1 of every row
  got = in.forward();
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(got.out[i]), i % 4 == 1) << i;
  for (const double l : got.lse) EXPECT_TRUE(std::isfinite(l));
}

TEST(Sdpa, ReadsNothingBeyondItsLists) {
  Rng rng(46);
  const Inputs in = random(rng, 3, 7, 4, 2, 5);
  const SdpaOut want = in.forward();
  for (const testing::Guard guard : {testing::Guard::kAfter, testing::Guard::kBefore}) {
    const GuardedBuffer<double> q(in.q, guard), k(in.k, guard), v(in.v, guard), bias(std::vector<double>(21), guard);
    TestContext context;
    const SdpaOut got =
        sdpa_forward_flat(context, q.cspan(), k.cspan(), v.cspan(), bias.cspan(), 3, 7, 4, 2, 5, in.scale, true);
    EXPECT_TRUE(same_bits<double>(got.out, want.out));
  }
}

TEST(Sdpa, Refusals) {
  const std::vector<double> four(4), two(2), eight(8);
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const struct {
    std::span<const double> q, k, v, bias;
    std::int64_t n_tok_q, n_tok_k, h_q, h_kv, d;
    double scale;
    std::int64_t status;
  } rows[] = {
      {four, four, four, two, 1, 2, 2, 1, 2, 1, kOk},
      {four, four, four, two, 0, 2, 2, 1, 2, 1, kEmptyDimension},
      {four, four, four, two, 1, 2, 2, 1, -2, 1, kEmptyDimension},
      {four, four, four, two, 1, kHuge, 2, 1, 2, 1, kDimensionTooLarge},
      {four, four, four, two, 1, 2, 3, 2, 2, 1, kHeadsNotGrouped},
      {four, four, four, two, 1, 2, 2, 1, 2, 0, kScaleInvalid},
      {four, four, four, two, 1, 2, 2, 1, 2, kNan, kScaleInvalid},
      {four, four, four, two, 1, 2, 2, 1, 2, kInf, kScaleInvalid},
      {four, four, four, two, kMaxDim, kMaxDim, 2, 1, 2, 1, kTooLarge},
      {two, four, four, two, 1, 2, 2, 1, 2, 1, kQLengthMismatch},
      {eight, four, four, two, 1, 2, 2, 1, 2, 1, kQLengthMismatch},
      {four, two, four, two, 1, 2, 2, 1, 2, 1, kKLengthMismatch},
      {four, four, eight, two, 1, 2, 2, 1, 2, 1, kVLengthMismatch},
      {four, four, four, {}, 1, 2, 2, 1, 2, 1, kBiasLengthMismatch},
  };
  TestContext context;
  for (const auto& r : rows) {
    const SdpaOut got =
        sdpa_forward_flat(context, r.q, r.k, r.v, r.bias, r.n_tok_q, r.n_tok_k, r.h_q, r.h_kv, r.d, r.scale, true);
    EXPECT_EQ(got.status, r.status);
    EXPECT_EQ(got.out.empty() && got.lse.empty(), r.status != kOk);
    const SdpaScores s = sdpa_scores_flat(context, r.q, r.k, r.n_tok_q, r.n_tok_k, r.h_q, r.h_kv, r.d, r.scale);
    const bool reads_no_more = r.status == kVLengthMismatch || r.status == kBiasLengthMismatch;
    EXPECT_EQ(s.status, reads_no_more ? std::int64_t{kOk} : r.status);
  }
  EXPECT_EQ(sdpa_forward_flat(context, four, four, four, eight, 1, 2, 2, 1, 2, 1, false).status, kOk);
  EXPECT_EQ(sdpa_softmax_rows_flat(context, four, 2, 3).status, kListLengthMismatch);
  EXPECT_EQ(sdpa_softmax_rows_flat(context, {}, 0, 3).status, kEmptyDimension);
  EXPECT_EQ(sdpa_softmax_rows_flat(context, four, kHuge, 3).status, kDimensionTooLarge);
  const std::vector<double> many(8193);
  EXPECT_EQ(sdpa_scores_flat(context, many, many, 8193, 8193, 1, 1, 1, 1).status, kTooLarge);
}

}  // namespace
}  // namespace krt::attnk
