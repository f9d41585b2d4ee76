// decode.survivors: transformers' own fixtures, its answers in tests/oracle/data/sampler.json, and a second writing of
// its rules over random rows, for every form of the passes.

#include <gtest/gtest.h>

#include <set>

#include "modules/decode/contract/contract.h"
#include "modules/decode/sample/sample_oracle.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::decode {
namespace {

using krt::testing::GuardedBuffer;
using krt::testing::Rng;
using krt::testing::ValueCheck;

constexpr float kInf = std::numeric_limits<float>::infinity();

SurvivorsResult kept_by(const RowPasses& passes, std::span<const float> logits, const SampleOptions& options,
                        std::span<const std::int64_t> history = {}) {
  SampleWorkspace workspace;
  return survivors(passes, logits, options, history, workspace);
}
SurvivorsResult kept_by(std::span<const float> logits, const SampleOptions& options,
                        std::span<const std::int64_t> history = {}) {
  return kept_by(scalar_passes(), logits, options, history);
}

std::vector<float> logs(std::vector<float> probabilities) {
  for (float& p : probabilities) p = std::log(p);
  return probabilities;
}

// transformers, tests/generation/test_logits_process.py: what each warper keeps.
TEST(Survivors, TransformersFixtures) {
  const std::vector<float> ten{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, raised{10, 11, 12, 13, 14, 5, 6, 7, 8, 9};
  const std::vector<float> ramp{-5, -4, -3, -2, -1, 0, 1, 2, 3, 4};
  std::vector<float> steep = ramp;
  for (float& x : steep) x *= 100;
  const std::vector<float> low{0, 1, 2, 3, 4}, uniform(5, 0.2F);
  using Ids = std::set<std::int64_t>;
  const struct {
    std::vector<float> logits;
    SampleOptions options;
    Ids kept;  // empty: only how many is published
    std::size_t count = 0;
  } rows[] = {
      {ten, {.top_k = 3}, {7, 8, 9}},
      {raised, {.top_k = 3}, {2, 3, 4}},
      {low, {.top_k = 1, .min_tokens_to_keep = 3}, {}, 3},
      {uniform, {.top_k = 1, .min_tokens_to_keep = 3}, {}, 5},
      {logs({.3F, .1F, .1F, .5F}), {.top_p = 0.8}, {0, 3}},
      {logs({.15F, .3F, .3F, .25F}), {.top_p = 0.8}, {1, 2, 3}},
      {ramp, {.top_p = 0.9, .min_tokens_to_keep = 2}, {}, 3},
      {steep, {.top_p = 0.9, .min_tokens_to_keep = 2}, {}, 2},
      {logs({.9F, .0274F, .047F, .0274F}), {.min_p = 0.05}, {0, 2}},
      {logs({.15F, .3F, .3F, .25F}), {.min_p = 0.05}, {0, 1, 2, 3}},
      {logs({.97F, .01F, .01F, .01F}), {.min_p = 0.05}, {0}},
      {ramp, {.min_p = 0.9, .min_tokens_to_keep = 2}, {}, 2},
      {steep, {.min_p = 0.9, .min_tokens_to_keep = 2}, {}, 2},
      {logs({.97F, .01F, .01F, .01F}), {.typical_p = 0.5}, {0}},
      {logs({.4F, .2F, .2F, .2F}), {.typical_p = 0.5}, {1, 2, 3}},
      {ramp, {.typical_p = 0.7, .min_tokens_to_keep = 2}, {}, 2},
      {steep, {.typical_p = 0.7, .min_tokens_to_keep = 2}, {}, 2},
      {logs({.87F, .099F, .001F, .03F}), {.epsilon_cutoff = 0.1}, {0}},
      {logs({.4F, .299F, .101F, .2F}), {.epsilon_cutoff = 0.1}, {0, 1, 2, 3}},
      {ramp, {.epsilon_cutoff = 0.05, .min_tokens_to_keep = 2}, {}, 3},
      {steep, {.epsilon_cutoff = 0.05, .min_tokens_to_keep = 2}, {}, 2},
      {logs({0, .1F, .8F, .1F}), {.eta_cutoff = 0.0625}, {1, 2, 3}},
      {logs({.01F, .04F, .9F, .05F}), {.eta_cutoff = 0.0625}, {2}},
      {ramp, {.eta_cutoff = 0.1, .min_tokens_to_keep = 2}, {}, 2},
      {steep, {.eta_cutoff = 0.1, .min_tokens_to_keep = 2}, {}, 2},
      {logs({.97F, .01F, .01F, .01F}), {.top_h = 0.3}, {0}},
      {logs({.4F, .3F, .2F, .1F}), {.top_h = 0.7}, {0, 1}},
      {logs({.25F, .25F, .25F, .25F}), {.top_h = 1}, {0, 1, 2, 3}},
      {logs({.75F, .25F, 0, 0}), {.top_h = 0.4}, {0}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE("fixture " + std::to_string(&row - rows));
    const SurvivorsResult r = kept_by(row.logits, row.options);
    EXPECT_EQ(r.status, kOk);
    EXPECT_EQ(r.n, std::ssize(r.ids));
    if (row.kept.empty())
      EXPECT_EQ(r.ids.size(), row.count);
    else
      EXPECT_EQ(Ids(r.ids.begin(), r.ids.end()), row.kept);
  }
}

TEST(Survivors, TransformersAnswers) {
  for (const auto& form : variants_here(row_variants())) {
    ValueCheck check("decode.survivors", form.name);
    for (const auto& c : krt::testing::fixture("sampler")) {
      SCOPED_TRACE(c.name() + ", " + std::string(form.name));
      const auto number = [&](const char* field, double off) { return c.has(field) ? c.number(field) : off; };
      const SampleOptions options{.temperature = number("temperature", 1),
                                  .top_k = static_cast<std::int64_t>(number("top_k", 0)),
                                  .top_p = number("top_p", 1),
                                  .min_p = number("min_p", 0),
                                  .typical_p = number("typical_p", 1),
                                  .epsilon_cutoff = number("epsilon_cutoff", 0),
                                  .eta_cutoff = number("eta_cutoff", 0),
                                  .top_h = number("top_h", 0),
                                  .min_tokens_to_keep = static_cast<std::int64_t>(number("min_tokens_to_keep", 1)),
                                  .repetition_penalty = number("repetition_penalty", 1)};
      const SurvivorsResult r = kept_by(form.run(), c.f32s("logits"), options, c.i64s("history"));
      std::vector<std::int64_t> ids = r.ids;
      std::sort(ids.begin(), ids.end());
      EXPECT_EQ(ids, c.i64s("kept"));
    }
  }
}

std::vector<float> random_row(Rng& rng, std::size_t n) {
  std::vector<float> row = rng.normals<float>(n, rng.integer(0, 1) == 0 ? 1 : 4);
  switch (rng.integer(0, 4)) {
    case 0:
      for (float& x : row) x = std::round(x * 2) / 2;
      break;
    case 1:
      for (float& x : row) x = rng.integer(0, 2) == 0 ? -kInf : x;
      row[0] = 1;
      break;
    case 2:
      for (int i = 0; i < 8; ++i) row[static_cast<std::size_t>(rng.integer(0, std::ssize(row) - 1))] += 12;
      break;
    default: break;
  }
  return row;
}

SampleOptions random_options(Rng& rng) {
  SampleOptions o;
  const auto sometimes = [&](auto& field, std::initializer_list<double> values) {
    if (rng.integer(0, 3) != 0) return;
    const double v = values.begin()[rng.integer(0, std::ssize(values) - 1)];
    field = static_cast<std::remove_reference_t<decltype(field)>>(v);
  };
  sometimes(o.temperature, {0.2, 0.7, 0.8, 1.3, 100});
  sometimes(o.top_k, {1, 5, 50, 300});
  sometimes(o.top_p, {0, 0.1, 0.5, 0.9, 0.95, 0.999});
  sometimes(o.min_p, {0.01, 0.1, 1});
  sometimes(o.typical_p, {0.2, 0.9, 0.95});
  sometimes(o.epsilon_cutoff, {1e-5, 3e-4, 0.1});
  sometimes(o.eta_cutoff, {1e-4, 2e-3, 0.1});
  sometimes(o.top_h, {0.1, 0.4, 0.9});
  sometimes(o.min_tokens_to_keep, {2, 7});
  sometimes(o.repetition_penalty, {0.8, 1.3});
  sometimes(o.presence_penalty, {-0.5, 1.5});
  sometimes(o.frequency_penalty, {-0.25, 0.5});
  o.exact_top_k = rng.integer(0, 1) == 0;
  return o;
}

// Sizes: below one block, across blocks and chunks, and one at which a nucleus is sought in a few blocks first.
TEST(Survivors, TheLongWayKeepsTheSame) {
  for (const auto& form : variants_here(row_variants())) {
    ValueCheck check("decode.survivors", form.name);
    Rng rng(4);
    SCOPED_TRACE(rng.trace());
    const std::pair<std::size_t, int> sizes[] = {{1, 20}, {2, 60}, {33, 300}, {500, 200}, {3000, 60}, {40007, 12}};
    for (const auto& [n, times] : sizes) {
      for (int i = 0; i < times; ++i) {
        SCOPED_TRACE(std::string(form.name) + ", " + std::to_string(n) + " logits, row " + std::to_string(i));
        const GuardedBuffer<float> logits(random_row(rng, n));
        const SampleOptions options = random_options(rng);
        std::vector<std::int64_t> history(static_cast<std::size_t>(rng.integer(0, 20)));
        for (auto& id : history) id = rng.integer(0, static_cast<std::int64_t>(n) - 1);
        const SurvivorsResult r = kept_by(form.run(), logits.cspan(), options, history);
        ASSERT_EQ(r.status, kOk);
        ASSERT_EQ(r.ids, testing::oracle_survivors(logits.cspan(), options, history));
      }
    }
  }
}

TEST(Survivors, EveryFormHasTheSameBits) {
  Rng rng(5);
  SCOPED_TRACE(rng.trace());
  for (int i = 0; i < 40; ++i) {
    const std::vector<float> logits = random_row(rng, 20011);
    const SampleOptions options = random_options(rng);
    const SurvivorsResult want = kept_by(logits, options);
    for (const auto& form : variants_here(row_variants())) {
      const SurvivorsResult got = kept_by(form.run(), logits, options);
      EXPECT_EQ(got.ids, want.ids) << form.name;
      EXPECT_TRUE(krt::testing::same_bits<double>(got.probs, want.probs)) << form.name;
    }
  }
}

TEST(Survivors, ProbabilitiesAreTheRenormalisedSoftmax) {
  Rng rng(6);
  SCOPED_TRACE(rng.trace());
  const std::vector<float> logits = rng.normals<float>(5000, 3);
  for (const SampleOptions& o :
       {SampleOptions{}, SampleOptions{.temperature = 0.7, .top_k = 40}, SampleOptions{.top_p = 0.9}}) {
    const SurvivorsResult r = kept_by(logits, o);
    std::vector<long double> want;
    long double sum = 0;
    const auto score = [&](std::int64_t id) {
      return logits[static_cast<std::size_t>(id)] / static_cast<float>(o.temperature);
    };
    for (const std::int64_t id : r.ids)
      sum +=
          want.emplace_back(std::exp(static_cast<long double>(score(id)) - static_cast<long double>(score(r.ids[0]))));
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(r.probs[i], static_cast<double>(want[i] / sum), static_cast<double>(want[i] / sum) * 0x1p-36);
    EXPECT_NEAR(std::accumulate(r.probs.begin(), r.probs.end(), 0.0), 1, 1e-12);
  }
}

TEST(Survivors, PenaltiesChangeEachDistinctIdOnce) {
  const std::vector<float> logits{-0.1F, 0.1F, 0.4F, 0};
  const std::vector<std::int64_t> history{2, 0, 1, 0, 0};
  const struct {
    SampleOptions options;
    std::vector<float> scores;
  } rows[] = {
      {{.repetition_penalty = 2}, {-0.2F, 0.05F, 0.2F, 0}},
      {{.presence_penalty = 0.25}, {-0.1F - 0.25F, 0.1F - 0.25F, 0.4F - 0.25F, 0}},
      {{.frequency_penalty = 0.5}, {-0.1F - 1.5F, 0.1F - 0.5F, 0.4F - 0.5F, 0}},
      {{.repetition_penalty = 2, .presence_penalty = 1, .frequency_penalty = 0.5},
       {-0.2F - 2.5F, 0.05F - 1.5F, 0.2F - 1.5F, 0}},
  };
  for (const auto& row : rows) {
    const SurvivorsResult got = kept_by(logits, row.options, history);
    const SurvivorsResult want = kept_by(row.scores, {});
    EXPECT_EQ(got.ids, want.ids);
    EXPECT_TRUE((krt::testing::all_close<double, double>(got.probs, want.probs, 1e-6)));
  }
}

TEST(Survivors, TheWorkspaceForgetsTheHistory) {
  SampleWorkspace workspace;
  const std::vector<float> logits{1, 2, 3};
  const std::vector<std::int64_t> history{2, 2};
  const SampleOptions options{.frequency_penalty = 5};
  const SurvivorsResult first = survivors(scalar_passes(), logits, options, history, workspace);
  const SurvivorsResult again = survivors(scalar_passes(), logits, options, history, workspace);
  const SurvivorsResult none = survivors(scalar_passes(), logits, options, {}, workspace);
  EXPECT_EQ(first.ids, (std::vector<std::int64_t>{1, 0, 2}));
  EXPECT_EQ(again.ids, first.ids);
  EXPECT_EQ(none.ids, (std::vector<std::int64_t>{2, 1, 0}));
}

TEST(Survivors, TiesAtTheLastPlace) {
  const std::vector<float> logits{1, 3, 2, 2, 3, 2};
  using Ids = std::vector<std::int64_t>;
  EXPECT_EQ(kept_by(logits, {.top_k = 3}).ids, (Ids{1, 4, 2, 3, 5}));  // transformers: all that tie
  EXPECT_EQ(kept_by(logits, {.top_k = 3, .exact_top_k = true}).ids, (Ids{1, 4, 2}));
  EXPECT_EQ(kept_by(logits, {.top_k = 1}).ids, (Ids{1, 4}));
  EXPECT_EQ(kept_by(logits, {.top_k = 1, .exact_top_k = true}).ids, (Ids{1}));
  EXPECT_EQ(kept_by(logits, {.top_p = 0.3}).ids, (Ids{1}));  // the nucleus keeps the lower id
  const std::vector<float> zeros{-0.0F, 0, -0.0F};           // one value
  EXPECT_EQ(kept_by(zeros, {.top_k = 1, .exact_top_k = true}).ids, (Ids{0}));
  EXPECT_EQ(kept_by(zeros, {.top_k = 1}).ids, (Ids{0, 1, 2}));
}

TEST(Survivors, FlatRowsOfEverySize) {
  for (const std::size_t n : {1, 63, 64, 65, 1025, 70001}) {
    const std::vector<float> flat(n, -3.5F);
    const SurvivorsResult all = kept_by(flat, {});
    ASSERT_EQ(all.n, static_cast<std::int64_t>(n));
    EXPECT_EQ(all.ids.back(), static_cast<std::int64_t>(n) - 1);
    EXPECT_EQ(all.probs.front(), all.probs.back());
    const SurvivorsResult half = kept_by(flat, {.top_p = 0.5});
    EXPECT_NEAR(static_cast<double>(half.n), static_cast<double>(n) / 2, 1);
    EXPECT_EQ(half.ids.back(), half.n - 1);
    EXPECT_EQ(kept_by(flat, {.top_k = 1}).n, static_cast<std::int64_t>(n));
    EXPECT_EQ(kept_by(flat, {.top_k = 1, .exact_top_k = true}).n, 1);
  }
}

// Keys that halve again and again put nearly all of them into one bucket at every level.
TEST(Survivors, KeysOfEveryMagnitude) {
  std::vector<float> logits;
  for (float x = 3e38F; x > 1e-42F; x *= 0.97F) logits.push_back(-x);
  logits.push_back(0);
  for (const SampleOptions& o : {SampleOptions{.top_p = 0.5}, SampleOptions{.typical_p = 0.5},
                                 SampleOptions{.top_k = 700}, SampleOptions{.temperature = 1e30, .top_p = 0.99}})
    EXPECT_EQ(kept_by(logits, o).ids, testing::oracle_survivors(logits, o));
}

TEST(Survivors, TemperatureZeroKeepsTheFirstLargest) {
  const SurvivorsResult r = kept_by(std::vector<float>{1, 7, 7, -kInf}, {.temperature = 0, .top_k = 3});
  EXPECT_EQ(r.ids, std::vector<std::int64_t>{1});
  EXPECT_EQ(r.probs, std::vector<double>{1});
  EXPECT_EQ(r.n, 1);
}

TEST(Survivors, MoreThanTheVocabularyIsTheVocabulary) {
  const std::vector<float> logits{1, 2, -kInf};
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(kept_by(logits, {.top_k = kHuge}).n, 2);
  EXPECT_EQ(kept_by(logits, {.top_k = 1, .min_tokens_to_keep = kHuge}).n, 2);
  EXPECT_EQ(kept_by(logits, {.top_p = 0.01, .min_tokens_to_keep = kHuge}).n, 2);
  EXPECT_EQ(kept_by(logits, {.typical_p = 0.01, .min_tokens_to_keep = kHuge}).n, 2);
}

TEST(Survivors, RefusesWhatHasNoDistribution) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<float> fine{1, 2, 3};
  const std::vector<std::int64_t> none, beyond{0, 3}, below{-1};
  const struct {
    std::vector<float> logits;
    SampleOptions options;
    std::vector<std::int64_t> history;
    std::int64_t status;
  } rows[] = {
      {{}, {}, none, kEmptyDimension},
      {{}, {.temperature = -1}, none, kEmptyDimension},
      {{1, std::nanf(""), 2}, {}, none, kNanLogit},
      {{1, kInf, 2}, {}, none, kInfiniteLogit},
      {{kInf, std::nanf("")}, {.temperature = 0}, none, kNanLogit},
      {{1, kInf}, {.temperature = 0}, none, kInfiniteLogit},
      {{-kInf, -kInf}, {}, none, kNoFiniteLogit},
      {{-kInf, -kInf}, {.temperature = 0}, none, kNoFiniteLogit},
      {{1, 2}, {.temperature = 1e-39}, none, kInfiniteLogit},  // overflows, as it does in transformers
      {{-1, -2}, {.temperature = 1e-39}, none, kNoFiniteLogit},
      {{3e38F}, {.repetition_penalty = 0.5}, {0}, kInfiniteLogit},
      {fine, {}, beyond, kTokenOutOfRange},
      {fine, {}, below, kTokenOutOfRange},
      {fine, {.temperature = -1}, none, kParameterOutOfRange},
      {fine, {.temperature = kNan}, none, kParameterOutOfRange},
      {fine, {.temperature = kInf}, none, kParameterOutOfRange},
      {fine, {.temperature = 1e39}, none, kParameterOutOfRange},   // not finite in f32
      {fine, {.temperature = 1e-60}, none, kParameterOutOfRange},  // 0 in f32
      {fine, {.top_k = -1}, none, kParameterOutOfRange},
      {fine, {.top_p = -0.1}, none, kParameterOutOfRange},
      {fine, {.top_p = 1.1}, none, kParameterOutOfRange},
      {fine, {.top_p = kNan}, none, kParameterOutOfRange},
      {fine, {.min_p = -0.1}, none, kParameterOutOfRange},
      {fine, {.min_p = 2}, none, kParameterOutOfRange},
      {fine, {.typical_p = 0}, none, kParameterOutOfRange},
      {fine, {.typical_p = 1.5}, none, kParameterOutOfRange},
      {fine, {.epsilon_cutoff = 1}, none, kParameterOutOfRange},
      {fine, {.eta_cutoff = -1}, none, kParameterOutOfRange},
      {fine, {.top_h = 1.01}, none, kParameterOutOfRange},
      {fine, {.min_tokens_to_keep = 0}, none, kParameterOutOfRange},
      {fine, {.repetition_penalty = 0}, none, kParameterOutOfRange},
      {fine, {.presence_penalty = kNan}, none, kParameterOutOfRange},
      {fine, {.frequency_penalty = kInf}, none, kParameterOutOfRange},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE("row " + std::to_string(&row - rows));
    const SurvivorsResult r = kept_by(row.logits, row.options, row.history);
    EXPECT_EQ(r.status, row.status);
    EXPECT_TRUE(r.ids.empty());
    EXPECT_TRUE(r.probs.empty());
    EXPECT_EQ(r.n, 0);
  }
}

TEST(Survivors, ControlADroppedOrAddedTokenIsNoticed) {
  Rng rng(8);
  const std::vector<float> logits = rng.normals<float>(500, 2);
  const SampleOptions options{.top_p = 0.9};
  const auto want = testing::oracle_survivors(logits, options);
  EXPECT_EQ(kept_by(logits, options).ids, want);
  EXPECT_NE(kept_by(logits, {.top_p = 0.91}).ids, want);
  EXPECT_NE(kept_by(logits, {.top_p = 0.89}).ids, want);
}

}  // namespace
}  // namespace krt::decode
