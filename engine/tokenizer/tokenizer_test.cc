// Against Hugging Face's tokenizers (tests/oracle/tokenizer_fixtures.py). SmolLM2's vocabulary is too large to keep
// here: KRT_SMOLLM2 names its GGUF file.

#include "engine/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/gguf/writer.h"
#include "engine/tokenizer/unicode.h"
#include "runtime/core/utf8.h"
#include "runtime/testing/fixture.h"

namespace krt::engine {
namespace {

using Ids = std::vector<TokenId>;
using Made = std::shared_ptr<const Tokenizer>;

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// A tokenizer of the fixture `file`; `change` adds keys to it, and keys that it adds are not copied.
Made made(const char* file, std::string_view pre = {}, bool space_prefix = false) {
  const std::string bytes = testing::fixture_bytes(file);
  const Result<Gguf> given = Gguf::parse(bytes_of(bytes), file);
  EXPECT_TRUE(given.ok()) << given.status().message();
  GgufWriter writer;
  for (const MetaValue& value : given->metadata())
    if (value.key != "tokenizer.ggml.pre") writer.copy(value);
  if (!pre.empty()) writer.add("tokenizer.ggml.pre", pre);
  writer.add("tokenizer.ggml.add_space_prefix", space_prefix);
  const std::vector<std::uint8_t> changed = writer.finish();
  const Result<Gguf> gguf = Gguf::parse(changed, file);
  Result<Made> tokenizer = Tokenizer::from_metadata(*gguf);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return tokenizer.ok() ? *tokenizer : nullptr;
}

std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return out;
}

// Texts of the fixture that `tokenizer` turns into other ids than `field` has.
int differences(const Tokenizer& tokenizer, const std::string& field) {
  int different = 0;
  for (const testing::FixtureCase& c : testing::fixture("tokenizer")) {
    const std::string text = from_hex(c.text("hex"));
    for (const bool parse : {true, false}) {
      const std::string as_text = field + " as text";
      const std::vector<std::int64_t> want = c.i64s(!parse && c.has(as_text) ? as_text : field);
      const Ids got = tokenizer.encode(text, {.add_special = false, .parse_special = parse}).value();
      different += Ids(want.begin(), want.end()) != got;
    }
  }
  return different;
}

class Tokenizers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!unicode_ready().ok()) GTEST_SKIP() << unicode_ready().message();
  }
};

TEST_F(Tokenizers, BytePairsAreHuggingFaces) {
  for (const char* pre : {"gpt-2", "llama-bpe", "qwen2", "smollm"})
    EXPECT_EQ(differences(*made("tokenizer_bpe.gguf", pre), pre), 0) << pre;
}

TEST_F(Tokenizers, SentencePiecesAreHuggingFaces) {
  EXPECT_EQ(differences(*made("tokenizer_spm.gguf"), "spm"), 0);
  EXPECT_EQ(differences(*made("tokenizer_spm.gguf", "default", true), "spm-prefix"), 0);
}

TEST_F(Tokenizers, SmolLM2IsHuggingFaces) {
  const char* path = std::getenv("KRT_SMOLLM2");
  if (path == nullptr) GTEST_SKIP() << "KRT_SMOLLM2 does not name SmolLM2's GGUF file";
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Result<Made> tokenizer = Tokenizer::from_metadata((*file)->header());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(differences(**tokenizer, "smollm2"), 0);
}

// A control: the comparison sees one pre-tokenizer in another's place.
TEST_F(Tokenizers, AnotherPreTokenizerIsNoticed) {
  EXPECT_GT(differences(*made("tokenizer_bpe.gguf", "gpt-2"), "llama-bpe"), 0);
  EXPECT_GT(differences(*made("tokenizer_bpe.gguf", "llama-bpe"), "qwen2"), 0);
  EXPECT_GT(differences(*made("tokenizer_bpe.gguf", "smollm"), "gpt-2"), 0);
  EXPECT_GT(differences(*made("tokenizer_spm.gguf"), "spm-prefix"), 0);
}

// What is encoded comes back, whole and token by token, but for ill-formed bytes and the byte without a token.
TEST_F(Tokenizers, DecodingRestoresTheText) {
  for (const auto& [file, pre, prefix] : {std::tuple{"tokenizer_bpe.gguf", "gpt-2", false},
                                          {"tokenizer_bpe.gguf", "llama-bpe", false},
                                          {"tokenizer_spm.gguf", "default", false},
                                          {"tokenizer_spm.gguf", "default", true}}) {
    const Made tokenizer = made(file, pre, prefix);
    const bool pieces = tokenizer->vocabulary().model == TokenizerModel::kSentencePiece;
    for (const testing::FixtureCase& c : testing::fixture("tokenizer")) {
      std::string text = utf8_repaired(from_hex(c.text("hex")));
      if (pieces) text = spaces_restored(text);
      if (!pieces) std::erase(text, '\x06');
      const Ids ids = tokenizer->encode(text, {.add_special = false, .parse_special = true}).value();
      std::string back = tokenizer->decode(ids, {.special = true}).value();
      StreamDecoder stream(*tokenizer, {.special = true});
      std::string streamed;
      for (const TokenId id : ids) {
        const std::string piece = stream.push(id);
        EXPECT_TRUE(is_utf8(piece)) << c.name();
        streamed += piece;
      }
      EXPECT_EQ(streamed + stream.finish(), back) << c.name();
      if (prefix) std::erase(back, ' '), std::erase(text, ' ');  // one more behind every added token
      EXPECT_EQ(back, text) << c.name();
    }
  }
}

TEST_F(Tokenizers, TheBeginningAndTheEndAreAddedWhereTheModelWantsThem) {
  const Made llama = made("tokenizer_bpe.gguf", "llama-bpe"), gpt = made("tokenizer_bpe.gguf", "gpt-2");
  const TokenId bos = llama->vocabulary().special.bos;
  EXPECT_EQ(llama->encode("").value(), Ids{bos});
  EXPECT_EQ(gpt->encode("").value(), Ids{});
  EXPECT_EQ(made("tokenizer_spm.gguf")->encode("").value(), Ids{1});
  EXPECT_EQ(llama->encode("", {.add_special = false}).value(), Ids{});
}

TEST_F(Tokenizers, ControlTokensAreShownOnlyWhereTheyAreAskedFor) {
  const Made t = made("tokenizer_bpe.gguf", "gpt-2");
  const Ids ids = t->encode("a<|im_end|>b<td>", {.parse_special = true}).value();
  EXPECT_EQ(t->decode(ids).value(), "ab<td>");
  EXPECT_EQ(t->decode(ids, {.special = true}).value(), "a<|im_end|>b<td>");
  EXPECT_TRUE(t->ends_generation(ids[1]));
  EXPECT_FALSE(t->ends_generation(ids[0]));
  EXPECT_EQ(t->decode(Ids{-1}).status().message(), "token -1 is outside the vocabulary of 1506 tokens");
}

// A character in several tokens appears when it is whole, and half of one at the end is U+FFFD.
TEST_F(Tokenizers, HalfACharacterIsHeldBack) {
  const Made t = made("tokenizer_bpe.gguf", "gpt-2");
  const auto byte = [&](int b) { return t->vocabulary().byte_tokens[static_cast<std::size_t>(b)]; };
  StreamDecoder stream(*t);
  EXPECT_EQ(stream.push(byte(0xF0)), "");
  EXPECT_EQ(stream.push(byte(0x9F)), "");
  EXPECT_EQ(stream.push(byte(0x98)), "");
  EXPECT_EQ(stream.push(byte(0x80)), "\xF0\x9F\x98\x80");
  EXPECT_EQ(stream.push(byte(0xE2)), "");
  EXPECT_EQ(stream.push(byte('a')),
            "\xEF\xBF\xBD"
            "a");
  EXPECT_EQ(stream.push(byte(0xE2)), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.finish(), "");
}

TEST_F(Tokenizers, ASpaceInFrontGoesOnlyAtTheStart) {
  const Made t = made("tokenizer_spm.gguf", "default", true);
  const Ids ids = t->encode("the", {.add_special = false}).value();
  EXPECT_EQ(t->decode(ids).value(), "the");
  EXPECT_EQ(t->decode(ids, {.continues = true}).value(), " the");
}

// A quarter of a million bytes that are one word: minutes if merging were quadratic.
TEST_F(Tokenizers, LongRunsTakeNoLongerThanTheirLength) {
  const Made bpe = made("tokenizer_bpe.gguf", "gpt-2"), spm = made("tokenizer_spm.gguf");
  for (const Tokenizer* t : {bpe.get(), spm.get()})
    for (const char* unit : {"a", "=", " ", "\xCC\x81", "\n", "ab"}) {
      std::string text;
      while (text.size() < (std::size_t{1} << 18U)) text += unit;
      EXPECT_EQ(t->decode(t->encode(text, {.add_special = false}).value()).value(), text) << unit;
    }
  std::string marks;  // canonical ordering has to sort all of them
  while (marks.size() < (std::size_t{1} << 18U)) marks += "\xCC\x81\xCC\xA7";
  EXPECT_FALSE(made("tokenizer_bpe.gguf", "qwen2")->encode(marks)->empty());
}

TEST_F(Tokenizers, ATextThatIsTooLongIsRefused) {
  const std::string text(kMaxTextBytes + 1, ' ');
  EXPECT_EQ(made("tokenizer_spm.gguf")->encode(text).status().message(),
            "the text has 67108865 bytes, more than 67108864");
}

}  // namespace
}  // namespace krt::engine
