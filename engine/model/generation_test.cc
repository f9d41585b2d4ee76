#include "engine/model/generation.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/model/tiny_model.h"
#include "runtime/testing/test_context.h"

namespace krt::engine {
namespace {

using krt::testing::TestContext;
using testing::TinyModel;

const std::vector<std::int64_t> kPrompt{3, 14, 15, 9, 26};

class GenerationTest : public ::testing::TestWithParam<bool> {
 protected:
  GenerationTest()
      : file_("model/qwen3_qk_norm.gguf"),
        model_(GetParam() ? load_reference(file_.open().value()).value()
                          : load_fast(context_, file_.open().value()).value()) {}

  std::unique_ptr<Generation> begin(const GenerateOptions& options, std::int64_t capacity = 64) {
    auto sequence = model_->start(context_, {.capacity = capacity}).value();
    auto out = std::make_unique<Generation>(*model_, std::move(sequence), options);
    const Status read = out->prefill(context_, kPrompt);
    EXPECT_TRUE(read.ok()) << read.message();
    return out;
  }
  // The text that is written, without the prompt.
  std::vector<std::int64_t> all(Generation& g) {
    std::vector<std::int64_t> out;
    while (true) {
      const Result<std::optional<std::int64_t>> id = g.next(context_);
      EXPECT_TRUE(id.ok()) << id.status().message();
      if (!id.ok() || !id->has_value()) return out;
      out.push_back(**id);
    }
  }
  std::vector<std::int64_t> written(const GenerateOptions& options) { return all(*begin(options)); }

  TestContext context_{2};
  TinyModel file_;
  std::shared_ptr<Model> model_;
};
INSTANTIATE_TEST_SUITE_P(Forms, GenerationTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "reference" : "fast"; });

// Each token is the largest logit of the whole text before it, read anew.
TEST_P(GenerationTest, WritesTheLargestLogit) {
  std::vector<std::int64_t> text = kPrompt;
  for (const std::int64_t id : written({.max_tokens = 12})) {
    const auto sequence = model_->start(context_, {.capacity = 64, .chunk = 3}).value();
    ASSERT_TRUE(sequence->read(context_, text).ok());
    EXPECT_EQ(id, top_two(sequence->logits()).id);
    text.push_back(id);
  }
  EXPECT_EQ(text.size(), kPrompt.size() + 12);
}

TEST_P(GenerationTest, EndsWithTheBudget) {
  const auto g = begin({.max_tokens = 4});
  EXPECT_EQ(g->finish(), Finish::kNotYet);
  EXPECT_EQ(all(*g).size(), 4U);
  EXPECT_EQ(g->finish(), Finish::kBudget);
  EXPECT_EQ(g->ids().size(), kPrompt.size() + 4);
  EXPECT_FALSE(g->next(context_)->has_value());
  EXPECT_TRUE(written({.max_tokens = 0}).empty());
}

TEST_P(GenerationTest, EndsBeforeAnEndToken) {
  const std::vector<std::int64_t> whole = written({.max_tokens = 8});
  const std::int64_t end = whole[5];
  const std::size_t first = static_cast<std::size_t>(std::find(whole.begin(), whole.end(), end) - whole.begin());
  const auto g = begin({.max_tokens = 8, .end_tokens = {47, end}});
  EXPECT_EQ(all(*g), std::vector<std::int64_t>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(first)));
  EXPECT_EQ(g->finish(), Finish::kEndToken);
}

TEST_P(GenerationTest, AFullSequenceIsAnError) {
  const auto g = begin({.max_tokens = 8}, 7);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(g->next(context_).ok());  // the third needs no room: it is never read
  EXPECT_EQ(g->next(context_).status().reason(), Reason::kResourceExhausted);
}

TEST_P(GenerationTest, ASeedFixesTheText) {
  GenerateOptions options{.max_tokens = 24, .sampling = {.temperature = 2}, .seed = 7};
  const std::vector<std::int64_t> seven = written(options);
  EXPECT_EQ(written(options), seven);
  options.seed = 8;
  EXPECT_NE(written(options), seven);
}

// top_k 1 leaves the largest logit alone, whatever the draw.
TEST_P(GenerationTest, FiltersApply) {
  const std::vector<std::int64_t> greedy = written({.max_tokens = 12});
  EXPECT_EQ(written({.max_tokens = 12, .sampling = {.temperature = 1.5, .top_k = 1}}), greedy);
  // A penalty this large never lets a token come twice, prompt included.
  const auto g = begin({.max_tokens = 20, .sampling = {.temperature = 0, .presence_penalty = 1e6}});
  all(*g);
  const std::set<std::int64_t> different(g->ids().begin(), g->ids().end());
  EXPECT_EQ(different.size(), g->ids().size());
}

TEST_P(GenerationTest, OptionsOutOfRangeAreRefused) {
  const auto g = begin({.sampling = {.temperature = -1}});
  EXPECT_EQ(g->next(context_).status().message(), "sampling: decode_parameter_out_of_range");
}

TEST_P(GenerationTest, ACancelledCallEnds) {
  const auto g = begin({});
  EXPECT_TRUE(g->next(context_).ok());
  const std::atomic<bool> cancelled{true};
  context_.context.control.cancelled = &cancelled;
  EXPECT_EQ(g->next(context_).status().reason(), Reason::kCancelled);
}

TEST(TopTwo, IsTheFirstOfEqualsAndTheirDistance) {
  const TopTwo tied = top_two(Tensor::own(std::vector<float>{1, 4, 2, 4}));
  EXPECT_EQ(tied.id, 1);
  EXPECT_EQ(tied.logit, 4);
  EXPECT_EQ(tied.gap, 0);
  const TopTwo clear = top_two(Tensor::own(std::vector<double>{-1, -4, -1.5}));
  EXPECT_EQ(clear.id, 0);
  EXPECT_EQ(clear.gap, 0.5);
}

}  // namespace
}  // namespace krt::engine
