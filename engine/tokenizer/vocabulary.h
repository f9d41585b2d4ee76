#pragma once
// Vocabulary: the `tokenizer.ggml.*` keys of a model file, checked. Nothing in it refers to the file.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf/gguf.h"
#include "engine/tokenizer/pieces.h"

namespace krt::engine {

// As numbered in `tokenizer.ggml.token_type`.
enum class TokenType : std::uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

enum class TokenizerModel : std::uint8_t {
  kBytePair,       // "gpt2": byte-level byte-pair encoding by merges
  kSentencePiece,  // "llama": characters merged by score, with byte tokens
};

struct SpecialIds {
  TokenId bos = kNoToken, eos = kNoToken, unknown = kNoToken, padding = kNoToken;
};

struct Vocabulary {
  TokenizerModel model = TokenizerModel::kBytePair;
  Pieces pieces;  // what each token decodes to; SentencePiece's U+2581 is a space
  std::vector<TokenType> types;
  std::vector<std::uint32_t> ranks;  // SentencePiece: lower merges first
  std::array<TokenId, 256> byte_tokens{};
  SpecialIds special;
  std::vector<bool> ends_generation;
  bool add_bos = false, add_eos = false, add_space_prefix = false;

  // Refused: an unknown model, a missing key, a key of another type, arrays of other lengths, unknown token types,
  // scores that are not finite, byte tokens that are no <0xHH>, two tokens of one text, special ids outside the
  // vocabulary, and add_bos or add_eos without such an id.
  static Result<Vocabulary> read(const Gguf& gguf);

  [[nodiscard]] std::size_t size() const { return types.size(); }
  [[nodiscard]] TokenType type(TokenId id) const { return types[static_cast<std::size_t>(id)]; }
  // Tokens that stand for no text of their own: shown only where special tokens are asked for.
  [[nodiscard]] bool is_special(TokenId id) const {
    return type(id) == TokenType::kControl || type(id) == TokenType::kUnknown;
  }
  // A user-defined token of SentencePiece that is two spaces or more.
  [[nodiscard]] bool is_space_run(TokenId id) const {
    return model == TokenizerModel::kSentencePiece && type(id) == TokenType::kUserDefined && pieces[id].size() > 1 &&
           pieces[id].find_first_not_of(' ') == std::string_view::npos;
  }
};

// "<file>: key 'tokenizer.ggml.<key>': <what>".
Status vocabulary_error(const Gguf& gguf, std::string_view key, const std::string& what);

// `text` with a space for every U+2581, and the reverse.
std::string spaces_restored(std::string_view text);
std::string spaces_escaped(std::string_view text);

}  // namespace krt::engine
