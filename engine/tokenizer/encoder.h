#pragma once
// Encoder: from the text between two added tokens to ids. One for each TokenizerModel.

#include <memory>
#include <string_view>
#include <vector>

#include "engine/tokenizer/merge.h"
#include "engine/tokenizer/vocabulary.h"

namespace krt::engine {

class Encoder {
 public:
  Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  virtual ~Encoder() = default;
  // Ids of `text`, which is well-formed and not empty, go behind `out`. `merger` is scratch.
  virtual void encode(std::string_view text, Merger& merger, std::vector<TokenId>& out) const = 0;
};

// Byte-level byte-pair encoding. Refused by name: no merges, a merge that is no two parts, and one whose parts or whole
// are no tokens. A byte that has no token is dropped before merging, as Hugging Face's model without an unknown token
// does. `vocabulary` outlives the encoder.
Result<std::unique_ptr<Encoder>> make_byte_pair_encoder(const Gguf& gguf, const Vocabulary& vocabulary);

// SentencePiece's byte-pair model: neighbours merge where their text is a token, the highest score first, the leftmost
// of equals; a character that is no token becomes its byte tokens, or, where one of them is missing, the unknown token
// (one for a run of them). A space and U+2581 are the same; where the vocabulary says so, a space comes first; a
// run of spaces that is a user-defined token is taken first, the longest from the left. Refused:
// no unknown token and not all byte tokens.
Result<std::unique_ptr<Encoder>> make_sentence_piece_encoder(const Gguf& gguf, const Vocabulary& vocabulary);

}  // namespace krt::engine
