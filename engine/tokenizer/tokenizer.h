#pragma once
// Tokenizer: text to token ids and back, built from a model file's metadata. Immutable; any number of threads.
//
// Source: Hugging Face `tokenizers` is the reference, llama.cpp's expected ids for its vocabularies the second one
// (tests/oracle/tokenizer_compare.py compares with both). Ill-formed UTF-8 is read as U+FFFD, one for each maximal
// ill-formed part.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf/gguf.h"
#include "engine/tokenizer/added_tokens.h"
#include "engine/tokenizer/chat_template.h"
#include "engine/tokenizer/encoder.h"
#include "engine/tokenizer/vocabulary.h"

namespace krt::engine {

inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20U;  // a word of that length needs 3 GB to merge

struct EncodeOptions {
  bool add_special = true;     // the beginning and end of text, where the model wants them
  bool parse_special = false;  // "<|im_end|>" in the text is that token; else it is text like any other
};

struct DecodeOptions {
  bool special = false;    // control tokens are shown as their text; else they are left out
  bool continues = false;  // the text goes on from tokens before it, so that a leading space stays
};

class Tokenizer {
 public:
  // Refuses what is malformed with a sentence that names the key.
  static Result<std::shared_ptr<const Tokenizer>> from_metadata(const Gguf& gguf);

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  [[nodiscard]] std::size_t size() const { return vocabulary_.size(); }
  [[nodiscard]] bool contains(std::int64_t id) const { return id >= 0 && id < static_cast<std::int64_t>(size()); }
  // The token that ends a generation: the end of the text, of a turn or of a message.
  [[nodiscard]] bool ends_generation(TokenId id) const {
    return vocabulary_.ends_generation[static_cast<std::size_t>(id)];
  }

  // The model's chat template, or why there is none: the file has no such key, or krt does not know it.
  [[nodiscard]] const Result<ChatTemplate>& chat() const { return chat_; }

  // Refuses a text of more than kMaxTextBytes.
  [[nodiscard]] Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options = {}) const;
  // Well-formed UTF-8: what is ill-formed is U+FFFD. Refuses ids outside the vocabulary.
  [[nodiscard]] Result<std::string> decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

 private:
  explicit Tokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)), added_(vocabulary_) {}
  void encode_text(std::string_view text, bool parse_special, std::vector<TokenId>& out) const;

  const Vocabulary vocabulary_;
  const AddedTokens added_;
  std::unique_ptr<const Encoder> encoder_;
  Result<ChatTemplate> chat_ = invalid("the model file has no chat template");
};

// Decodes one token at a time. What push() and finish() return, put together, is what decode() gives for all of them;
// no piece ends inside a character.
class StreamDecoder {
 public:
  // `tokenizer` outlives it.
  explicit StreamDecoder(const Tokenizer& tokenizer, DecodeOptions options = {});
  // The text that `id`, which the vocabulary contains, has made certain; it may be empty.
  std::string push(TokenId id);
  // What was held back: an unfinished character as U+FFFD.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  const DecodeOptions options_;
  bool drop_space_;
  std::string held_;
};

}  // namespace krt::engine
