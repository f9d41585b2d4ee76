#pragma once
// AddedTokens: the tokens that are cut out of a text before anything else is done with it: control, unknown and
// user-defined ones. Leftmost, then longest; a trie over bytes.
//
// Source: the rule of Hugging Face's added vocabulary. SentencePiece's runs of spaces are found as U+2581 here, as
// there; where they are spaces the encoder finds them.

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/tokenizer/vocabulary.h"

namespace krt::engine {

class AddedTokens {
 public:
  explicit AddedTokens(const Vocabulary& vocabulary);

  struct Found {
    std::size_t begin = 0, length = 0;
    TokenId id = kNoToken;
    bool special = false;
  };
  // The first one in `text`, which is well-formed, at or after byte `from`; id kNoToken: none. `special`: control and
  // unknown ones too; else what one of those covers stays text, whatever shorter token begins there.
  [[nodiscard]] Found find(std::string_view text, std::size_t from, bool special) const;

 private:
  struct Node {
    TokenId id = kNoToken;
    bool special = false;
  };
  void insert(std::string_view text, TokenId id, bool special);
  [[nodiscard]] Found longest_at(std::string_view text, std::size_t at) const;

  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // node * 256 + byte -> node
  std::array<bool, 256> begins_{};
};

}  // namespace krt::engine
