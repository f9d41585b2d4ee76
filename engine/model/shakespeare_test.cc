// A model that says something, in three formats: what it writes, against a walk in float64 numpy and from text to text.

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "engine/model/generation.h"
#include "engine/model/tiny_model.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/tokenizer/unicode.h"
#include "runtime/testing/test_context.h"

namespace krt::engine {
namespace {

using krt::testing::fixture;
using krt::testing::FixtureCase;
using krt::testing::TestContext;
using testing::TinyModel;

// f32 activations part from f64 where the two largest logits are this near (docs/numerics.md).
constexpr double kFastGap = 1e-3, kReferenceGap = 1e-6;

std::vector<std::int64_t> write(Context& context, const Model& model, const FixtureCase& c) {
  const std::vector<std::int64_t> prompt = c.i64s("prompt_ids"), want = c.i64s("ids");
  auto sequence = model.start(context, {.capacity = std::ssize(prompt) + std::ssize(want)}).value();
  Generation generation(model, std::move(sequence), {.max_tokens = std::ssize(want)});
  EXPECT_TRUE(generation.prefill(context, prompt).ok());
  std::vector<std::int64_t> ids;
  while (const std::optional<std::int64_t> id = generation.next(context).value()) ids.push_back(*id);
  return ids;
}

// Equal up to where the choice is not clear; what is written from there on is another text.
void expect_same(const std::vector<std::int64_t>& ids, const FixtureCase& c, double gap) {
  const std::vector<std::int64_t> want = c.i64s("ids");
  const std::vector<double> gaps = c.f64s("gaps");
  ASSERT_EQ(ids.size(), want.size());
  const auto [mine, theirs] = std::mismatch(ids.begin(), ids.end(), want.begin());
  const auto at = static_cast<std::size_t>(mine - ids.begin());
  if (at == ids.size()) return;
  EXPECT_LT(gaps[at], gap) << "another token at " << at;
}

TEST(Shakespeare, BothLoopsWriteWhatNumpyWritesInFloat64) {
  if (!unicode_ready().ok()) GTEST_SKIP() << unicode_ready().message();
  TestContext context(2);
  int texts = 0;
  for (const char* kind : {"f16", "q8_0", "q4_0"}) {
    const TinyModel file("shakespeare/" + std::string(kind) + ".gguf");
    const auto checkpoint = file.open().value();
    const auto reference = load_reference(checkpoint).value();
    const auto fast = load_fast(context, checkpoint).value();
    for (const FixtureCase& c : fixture("shakespeare")) {
      if (c.text("kind") != kind) continue;
      SCOPED_TRACE(c.name());
      expect_same(write(context, *reference, c), c, kReferenceGap);
      expect_same(write(context, *fast, c), c, kFastGap);
      ++texts;
    }
  }
  EXPECT_EQ(texts, 15);
}

TEST(Shakespeare, ControlAnotherTokenIsNoticed) {
  const FixtureCase c = fixture("shakespeare").front();
  std::vector<std::int64_t> ids = c.i64s("ids");
  ids[0] ^= 1;
  EXPECT_NONFATAL_FAILURE(expect_same(ids, c, c.f64s("gaps")[0]), "another token at 0");
}

TEST(Shakespeare, TextAndTokensAreThoseOfTheTokenizersLibrary) {
  if (!unicode_ready().ok()) GTEST_SKIP() << unicode_ready().message();
  const TinyModel file("shakespeare/q8_0.gguf");
  const auto checkpoint = file.open().value();
  for (const FixtureCase& c : fixture("shakespeare")) {
    SCOPED_TRACE(c.name());
    const std::vector<std::int64_t> prompt = c.i64s("prompt_ids"), written = c.i64s("ids");
    EXPECT_EQ(checkpoint->tokenizer->encode(c.text("prompt")).value(),
              std::vector<std::int32_t>(prompt.begin(), prompt.end()));
    EXPECT_EQ(checkpoint->tokenizer->decode(std::vector<std::int32_t>(written.begin(), written.end())).value(),
              c.text("text"));
  }
}

}  // namespace
}  // namespace krt::engine
