#include "engine/tokenizer/vocabulary.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/gguf/writer.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/tokenizer/unicode.h"

namespace krt::engine {
namespace {

using Texts = std::vector<std::string>;
using Types = std::vector<std::int32_t>;

// The keys of a file, each of which a test may leave out or replace.
struct Keys {
  std::string model = "gpt2", pre = "gpt-2";
  Texts tokens{"a", "b", "ab", "<end>"}, merges{"a b"};
  Types types{1, 1, 1, 3};
  std::vector<float> scores{};
  void (*more)(GgufWriter&) = nullptr;
};

Result<std::shared_ptr<const Tokenizer>> load(const Keys& k) {
  GgufWriter w;
  const auto add = [&](const char* key, const auto& value) {
    if (!value.empty()) w.add("tokenizer.ggml." + std::string(key), value);
  };
  add("model", std::string_view(k.model));
  add("pre", std::string_view(k.pre));
  add("tokens", k.tokens);
  add("merges", k.merges);
  add("token_type", k.types);
  add("scores", k.scores);
  if (k.more != nullptr) k.more(w);
  const std::vector<std::uint8_t> file = w.finish();
  const Result<Gguf> gguf = Gguf::parse(file, "test");
  return Tokenizer::from_metadata(*gguf);
}

class Vocabularies : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!unicode_ready().ok()) GTEST_SKIP() << unicode_ready().message();
  }
};

TEST_F(Vocabularies, ASoundOneIsAccepted) {
  const auto t = load({});
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ((*t)->encode("abba").value(), (std::vector<TokenId>{2, 1, 0}));
  EXPECT_FALSE((*t)->vocabulary().add_bos);
}

TEST_F(Vocabularies, MalformedMetadataIsRefusedByName) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Keys spm{.model = "llama", .pre = "default", .merges = {}, .scores = {1, 2, 3, 4}};
  const auto with = [](Keys k, auto change) {
    change(k);
    return k;
  };
  const struct {
    Keys keys;
    const char* sentence;
  } rows[] = {
      {{.model = ""}, "key 'tokenizer.ggml.model' is missing"},
      {{.model = "t5"}, "key 'tokenizer.ggml.model': krt has no tokenizer 't5'; it has gpt2, llama"},
      {{.pre = ""}, "key 'tokenizer.ggml.pre' is missing"},
      {{.pre = "falcon"},
       "key 'tokenizer.ggml.pre': krt has no pre-tokenizer 'falcon'; it has gpt-2, llama-bpe, qwen2, smollm"},
      {{.tokens = {}}, "key 'tokenizer.ggml.tokens' is missing"},
      {{.tokens = {"a", "b", "a", "c"}}, "key 'tokenizer.ggml.tokens': tokens 0 and 2 are both 'a'"},
      {{.types = {}}, "key 'tokenizer.ggml.token_type' is missing"},
      {{.types = {1, 1, 1}}, "key 'tokenizer.ggml.token_type': has 3 elements for 4 tokens"},
      {{.types = {1, 1, 7, 1}}, "key 'tokenizer.ggml.token_type': token 2 has a type that is none of 1 to 6"},
      {{.types = {1, 1, 1, 6}}, "key 'tokenizer.ggml.tokens': byte token 3 is '<end>', must be <0xHH>"},
      {{.merges = {}}, "key 'tokenizer.ggml.merges' is missing"},
      {{.merges = {"ab"}}, "key 'tokenizer.ggml.merges': merge 0 'ab' is no two tokens with a space between them"},
      {{.merges = {"a b", "a b c"}}, "key 'tokenizer.ggml.merges': merge 1 'a b c' is no two tokens"},
      {{.merges = {"a "}}, "key 'tokenizer.ggml.merges': merge 0 'a ' is no two tokens"},
      {{.merges = {"b a"}}, "key 'tokenizer.ggml.merges': merge 0 'b a' has a part or a result that is no token"},
      {{.merges = {"a \xE2\x82\xAC"}}, "key 'tokenizer.ggml.merges': merge 0 'a \xE2\x82\xAC' is not byte-level text"},
      {{.more = [](GgufWriter& w) { w.add("tokenizer.ggml.bos_token_id", std::uint32_t{4}); }},
       "key 'tokenizer.ggml.bos_token_id': 4 is outside the vocabulary of 4 tokens"},
      {{.more = [](GgufWriter& w) { w.add("tokenizer.ggml.eot_token_id", std::uint32_t{1} << 31U); }},
       "key 'tokenizer.ggml.eot_token_id': 2147483648 is outside the vocabulary of 4 tokens"},
      {{.more = [](GgufWriter& w) { w.add("tokenizer.ggml.eos_token_id", 1.0F); }},
       "key 'tokenizer.ggml.eos_token_id' must be an integer that fits 63 bits, is f32"},
      {{.more = [](GgufWriter& w) { w.add("tokenizer.ggml.add_bos_token", true); }},
       "key 'tokenizer.ggml.bos_token_id': is missing, but the token is added to every text"},
      {{.more = [](GgufWriter& w) { w.add("tokenizer.ggml.add_eos_token", std::uint32_t{1}); }},
       "key 'tokenizer.ggml.add_eos_token' must be a bool, is u32"},
      {with(spm, [](Keys& k) { k.scores = {}; }), "key 'tokenizer.ggml.scores' is missing"},
      {with(spm,
            [](Keys& k) {
              k.scores = {1, 2};
            }),
       "key 'tokenizer.ggml.scores': has 2 elements for 4 tokens"},
      {with(spm, [&](Keys& k) { k.scores[1] = nan; }),
       "key 'tokenizer.ggml.scores': the score of token 1 is not finite"},
      {with(spm, [](Keys& k) { k.more = [](GgufWriter& w) { w.add("tokenizer.ggml.add_bos_token", false); }; }),
       "key 'tokenizer.ggml.unknown_token_id': is missing, and so are byte tokens that would take its place"},
  };
  for (const auto& row : rows) {
    const auto t = load(row.keys);
    ASSERT_FALSE(t.ok()) << row.sentence;
    EXPECT_TRUE(t.status().message().starts_with("test: " + std::string(row.sentence))) << t.status().message();
  }
}

// One unknown token stands for a run of characters that have neither a token nor byte tokens.
TEST_F(Vocabularies, WithoutByteTokensTheUnknownTokenStandsForARun) {
  const auto t = load({.model = "llama",
                       .pre = "",
                       .tokens = {"<unk>", "\xE2\x96\x81", "a",
                                  "\xE2\x96\x81"
                                  "a"},
                       .merges = {},
                       .types = {2, 1, 1, 1},
                       .scores = {0, -2, -3, -1},
                       .more = [](GgufWriter& w) { w.add("tokenizer.ggml.add_bos_token", false); }});
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ((*t)->encode("a xya").value(), (std::vector<TokenId>{3, 1, 0, 2}));
}

// Of two merges the higher score goes first, of equal ones the left one, and -0 is 0.
TEST_F(Vocabularies, ScoresOrderMerges) {
  const auto ids = [](std::vector<float> scores) {
    const auto t = load({.model = "llama",
                         .pre = "",
                         .tokens = {"<unk>", "a", "b", "c", "ab", "bc"},
                         .merges = {},
                         .types = {2, 1, 1, 1, 1, 1},
                         .scores = std::move(scores),
                         .more = [](GgufWriter& w) {
                           w.add("tokenizer.ggml.add_bos_token", false);
                           w.add("tokenizer.ggml.add_space_prefix", false);
                         }});
    return (*t)->encode("abc").value();
  };
  const std::vector<TokenId> left{4, 3}, right{1, 5};
  EXPECT_EQ(ids({0, 0, 0, 0, -1, -2}), left);
  EXPECT_EQ(ids({0, 0, 0, 0, -2, -1}), right);
  EXPECT_EQ(ids({0, 0, 0, 0, 1, 2}), right);
  EXPECT_EQ(ids({0, 0, 0, 0, -1, 1}), right);
  EXPECT_EQ(ids({0, 0, 0, 0, -0.0F, 0.0F}), left);
}

}  // namespace
}  // namespace krt::engine
