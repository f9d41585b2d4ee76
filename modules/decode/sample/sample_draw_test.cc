// decode.sample: the draw. Which token a uniform number gives, that seeds are independent, and the calls by name.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "modules/builtin.h"
#include "modules/decode/contract/contract.h"
#include "modules/decode/sample/philox.h"
#include "modules/decode/sample/sample.h"
#include "runtime/testing/random.h"
#include "runtime/testing/value_check.h"

namespace krt::decode {
namespace {

using krt::testing::Rng;
using krt::testing::ValueCheck;

constexpr float kInf = std::numeric_limits<float>::infinity();

SampleResult drawn(std::span<const float> logits, const SampleOptions& options, const Draw& draw,
                   const RowPasses& passes = scalar_passes()) {
  SampleWorkspace workspace;
  return sample(passes, logits, options, {}, draw, workspace);
}

TEST(Sample, TakesTheFirstTokenBeyondTheDraw) {
  for (const auto& form : variants_here(row_variants())) {
    ValueCheck check("decode.sample", form.name);
    Rng rng(11);
    SCOPED_TRACE(rng.trace());
    SampleWorkspace workspace;
    for (const std::size_t n : {1, 5, 64, 65, 3000, 40007}) {
      const std::vector<float> logits = rng.normals<float>(n, 2);
      for (const SampleOptions& o : {SampleOptions{}, SampleOptions{.temperature = 0.7, .top_k = 50, .top_p = 0.95},
                                     SampleOptions{.top_p = 0.8}, SampleOptions{.typical_p = 0.9}}) {
        const SurvivorsResult in = survivors(form.run(), logits, o, {}, workspace);
        for (int i = 0; i < 50; ++i) {
          const double u = rng.uniform();
          std::size_t j = 0;
          for (double sum = in.probs[0]; sum <= u && j + 1 < in.probs.size(); sum += in.probs[j]) ++j;
          const SampleResult r = sample(form.run(), logits, o, {}, {.u = u}, workspace);
          ASSERT_EQ(r.token_id, in.ids[j]) << form.name << ", " << n << " logits, u " << u;
          ASSERT_EQ(r.prob, in.probs[j]);
          ASSERT_EQ(r.n_survivors, in.n);
          ASSERT_EQ(r.u, u);
          ASSERT_EQ(r.status, kOk);
        }
      }
    }
  }
}

TEST(Sample, TheEndsOfTheDraw) {
  const std::vector<float> logits{2, 1, 3, -kInf};
  EXPECT_EQ(drawn(logits, {}, {.u = 0.0}).token_id, 2);
  EXPECT_EQ(drawn(logits, {}, {.u = 1 - 0x1p-53}).token_id, 1);
  const std::vector<float> halves{0, 0};  // a draw on the very boundary belongs to the next token
  EXPECT_EQ(drawn(halves, {}, {.u = std::nextafter(0.5, 0.0)}).token_id, 0);
  EXPECT_EQ(drawn(halves, {}, {.u = 0.5}).token_id, 1);
}

TEST(Sample, TemperatureZeroIsArgmaxAndNeedsNoDraw) {
  Rng rng(12);
  for (const auto& form : variants_here(row_variants())) {
    for (const std::size_t n : {1, 64, 65, 5000}) {
      std::vector<float> logits = rng.normals<float>(n);
      logits[n / 2] = logits[n - 1] = 9;
      const SampleResult r = drawn(logits, {.temperature = 0}, {}, form.run());
      EXPECT_EQ(r.token_id, static_cast<std::int64_t>(n / 2)) << form.name;
      EXPECT_EQ(r.prob, 1);
      EXPECT_EQ(r.n_survivors, 1);
      EXPECT_EQ(r.status, kOk);
    }
  }
}

// Sum over cells of (count - expected)^2 / expected, as distances from its mean in standard deviations.
double chi_square(const std::vector<double>& counts, const std::vector<double>& probabilities) {
  const double draws = std::accumulate(counts.begin(), counts.end(), 0.0);
  double statistic = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = draws * probabilities[i];
    statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  const auto degrees = static_cast<double>(counts.size() - 1);
  return (statistic - degrees) / std::sqrt(2 * degrees);
}
constexpr double kSigmas = 4;
constexpr std::int64_t kDraws = 100'000;

struct Stream {
  const char* name;
  Draw (*draw)(std::int64_t i);
};
constexpr Stream kStreams[] = {
    {"consecutive seeds", [](std::int64_t i) { return Draw{.seed = i}; }},
    {"consecutive sequences", [](std::int64_t i) { return Draw{.seed = 42, .sequence = i}; }},
    {"consecutive positions", [](std::int64_t i) { return Draw{.seed = 42, .sequence = 3, .position = i}; }},
};

TEST(Sample, DrawsFollowTheProbabilities) {
  Rng rng(13);
  SCOPED_TRACE(rng.trace());
  const std::vector<float> logits = rng.normals<float>(64, 2);
  const SampleOptions options{.temperature = 0.8, .top_k = 40, .top_p = 0.95};
  SampleWorkspace workspace;
  const SurvivorsResult in = survivors(scalar_passes(), logits, options, {}, workspace);
  ASSERT_GT(in.n, 8);
  for (const Stream& stream : kStreams) {
    std::vector<double> by_id(logits.size());
    for (std::int64_t i = 0; i < kDraws; ++i) {
      const SampleResult r = sample(scalar_passes(), logits, options, {}, stream.draw(i), workspace);
      ++by_id[static_cast<std::size_t>(r.token_id)];
    }
    std::vector<double> counts;
    for (const std::int64_t id : in.ids) counts.push_back(by_id[static_cast<std::size_t>(id)]);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0.0), kDraws) << stream.name;
    EXPECT_LT(std::fabs(chi_square(counts, in.probs)), kSigmas) << stream.name;
  }
}

TEST(Sample, NeighboursAreIndependent) {
  constexpr std::size_t kCells = 16;
  for (const Stream& stream : kStreams) {
    std::vector<double> pairs(kCells * kCells);
    const auto cell = [&](std::int64_t i) {
      const Draw d = stream.draw(i);
      return static_cast<std::size_t>(uniform_draw(*d.seed, d.sequence, d.position) * kCells);
    };
    for (std::int64_t i = 0; i < kDraws; ++i) ++pairs[cell(2 * i) * kCells + cell(2 * i + 1)];
    EXPECT_LT(std::fabs(chi_square(pairs, std::vector<double>(pairs.size(), 1.0 / pairs.size()))), kSigmas)
        << stream.name;
  }
}

TEST(Sample, ControlABiasedGeneratorIsNoticed) {
  std::vector<double> cells(16);
  for (std::int64_t i = 0; i < kDraws; ++i) ++cells[static_cast<std::size_t>(uniform_draw(i, 0, 0) * 0.99 * 16)];
  EXPECT_GT(chi_square(cells, std::vector<double>(16, 1.0 / 16)), kSigmas);
}

// The same token alone, in another order among other rows, and beside other threads.
TEST(Sample, BatchMatesDoNotMatter) {
  Rng rng(14);
  SCOPED_TRACE(rng.trace());
  constexpr std::size_t kRows = 16;
  std::vector<std::vector<float>> rows;
  for (std::size_t i = 0; i < kRows; ++i) rows.push_back(rng.normals<float>(2000, 2));
  const SampleOptions options{.temperature = 0.8, .top_p = 0.95};
  const auto token = [&](std::size_t row, SampleWorkspace& workspace) {
    const Draw draw{.seed = 99, .sequence = static_cast<std::int64_t>(row), .position = 5};
    return sample(scalar_passes(), rows[row], options, {}, draw, workspace).token_id;
  };
  std::vector<std::int64_t> alone, backwards(kRows), threaded(kRows);
  for (std::size_t i = 0; i < kRows; ++i) alone.push_back(token(i, *std::make_unique<SampleWorkspace>()));
  SampleWorkspace shared;
  for (std::size_t i = kRows; i-- > 0;) backwards[i] = token(i, shared);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      SampleWorkspace own;
      for (std::size_t i = t; i < kRows; i += 4) threaded[i] = token(i, own);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(backwards, alone);
  EXPECT_EQ(threaded, alone);
}

TEST(Sample, RefusesADrawThatIsNone) {
  const std::vector<float> logits{1, 2, 3};
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    Draw draw;
    double temperature;
    std::int64_t status;
  } rows[] = {
      {{}, 1, kDrawUndetermined},
      {{.u = 0.5, .seed = 1}, 1, kDrawUndetermined},
      {{.u = 1.0}, 1, kParameterOutOfRange},
      {{.u = -0.1}, 1, kParameterOutOfRange},
      {{.u = kNan}, 1, kParameterOutOfRange},
      {{.u = 1.0}, 0, kParameterOutOfRange},
      {{.seed = 1}, -1, kParameterOutOfRange},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE("row " + std::to_string(&row - rows));
    const SampleResult r = drawn(logits, {.temperature = row.temperature}, row.draw);
    EXPECT_EQ(r.status, row.status);
    EXPECT_EQ(r.token_id, -1);
    EXPECT_EQ(r.prob, 0);
    EXPECT_EQ(r.n_survivors, 0);
    EXPECT_EQ(r.u, 0);
  }
  EXPECT_EQ(drawn(std::vector<float>{1, std::nanf("")}, {}, {.u = 0.5}).status, kNanLogit);
}

TEST(SampleByName, OptionsReachTheirFilters) {
  Runtime runtime(builtin_registry());
  const List logits{1.5, 3.0, 2.0, -1.0};
  const auto ids = [&](Dict args) {
    args.emplace_back("logits", logits);
    const ExecuteResult r = runtime.execute("decode", "survivors", args);
    EXPECT_TRUE(r.success()) << r.error.message();
    const auto got = r.result["ids"].get_if<Tensor>()->as<std::int64_t>();
    return std::vector<std::int64_t>(got.begin(), got.end());
  };
  using Ids = std::vector<std::int64_t>;
  EXPECT_EQ(ids({}), (Ids{1, 2, 0, 3}));
  EXPECT_EQ(ids({{"temperature", 0}}), (Ids{1}));
  EXPECT_EQ(ids({{"top_k", 2}}), (Ids{1, 2}));
  EXPECT_EQ(ids({{"top_p", 0.7}}), (Ids{1, 2}));
  EXPECT_EQ(ids({{"min_p", 0.3}}), (Ids{1, 2}));
  EXPECT_EQ(ids({{"typical_p", 0.2}}), (Ids{1}));
  EXPECT_EQ(ids({{"epsilon_cutoff", 0.2}}), (Ids{1, 2}));
  EXPECT_EQ(ids({{"eta_cutoff", 0.9}}), (Ids{1}));
  EXPECT_EQ(ids({{"top_h", 0.1}}), (Ids{1}));
  EXPECT_EQ(ids({{"top_k", 1}, {"min_tokens_to_keep", 3}}), (Ids{1, 2, 0}));
  EXPECT_EQ(ids({{"repetition_penalty", 9.0}, {"history", List{1}}}), (Ids{2, 0, 1, 3}));
  EXPECT_EQ(ids({{"presence_penalty", 9.0}, {"history", List{1}}}), (Ids{2, 0, 3, 1}));
  EXPECT_EQ(ids({{"frequency_penalty", 1.2}, {"history", List{1, 1}}}), (Ids{2, 0, 1, 3}));
}

TEST(SampleByName, SeedSequenceAndPositionFixTheToken) {
  Runtime runtime(builtin_registry());
  const auto call = [&](Dict args) {
    args.emplace_back("logits", List{1.0, 1.0, 1.0, 1.0});
    return runtime.execute("decode", "sample", args);
  };
  const ExecuteResult r = call({{"seed", 7}, {"sequence", 2}, {"position", 3}});
  EXPECT_TRUE(r.success()) << r.error.message();
  const double u = uniform_draw(7, 2, 3);
  EXPECT_EQ(*r.result["u"].get_if<double>(), u);
  EXPECT_EQ(*r.result["token_id"].get_if<std::int64_t>(), static_cast<std::int64_t>(u * 4));
  EXPECT_EQ(*r.result["prob"].get_if<double>(), 0.25);
  EXPECT_EQ(r.status, kOk);

  const ExecuteResult refused = call({});
  EXPECT_TRUE(refused.success());
  EXPECT_EQ(refused.status, kDrawUndetermined);
  EXPECT_EQ(refused.status_name, "decode_draw_undetermined");
}

}  // namespace
}  // namespace krt::decode
