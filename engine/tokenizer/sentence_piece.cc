#include <unordered_set>

#include "engine/tokenizer/encoder.h"
#include "runtime/core/utf8.h"

namespace krt::engine {
namespace {

class SentencePieceEncoder final : public Encoder {
 public:
  explicit SentencePieceEncoder(const Vocabulary& vocabulary) : vocabulary_(vocabulary), index_(vocabulary.size()) {
    for (TokenId id = 0; id < static_cast<TokenId>(vocabulary.size()); ++id) {
      if (vocabulary.is_space_run(id)) note_run(id);
      if (vocabulary.type(id) != TokenType::kNormal && vocabulary.type(id) != TokenType::kUnused) continue;
      index_.insert(vocabulary.pieces, id);
      note_inner_spaces(vocabulary.pieces[id]);
    }
  }

  void encode(std::string_view raw, Merger& merger, std::vector<TokenId>& out) const override {
    const std::string spaced = (vocabulary_.add_space_prefix ? " " : "") + spaces_restored(raw);
    std::string_view text = spaced;
    while (!text.empty()) {
      if (const std::size_t run = longest_run(text); run != 0) {
        out.push_back(runs_[run]);
        text.remove_prefix(run);
        continue;
      }
      const std::size_t end = part_end(text);
      encode_part(text.substr(0, end), merger, out);
      text.remove_prefix(end);
    }
  }

 private:
  void note_run(TokenId id) {
    const std::size_t length = vocabulary_.pieces[id].size();
    if (runs_.size() <= length) runs_.resize(length + 1, kNoToken);
    runs_[length] = id;
  }

  // The length of the longest token of spaces at the front of `text`; 0: there is none.
  std::size_t longest_run(std::string_view text) const {
    std::size_t length = 0;
    for (std::size_t n = 1; n < runs_.size() && n <= text.size() && text[n - 1] == ' '; ++n)
      if (runs_[n] != kNoToken) length = n;
    return length;
  }

  // The character before each space inside a token.
  void note_inner_spaces(std::string_view piece) {
    for (std::size_t i = 1; i < piece.size(); ++i)
      if (piece[i] == ' ' && piece[i - 1] != ' ') before_space_.insert(character_before(piece, i));
  }
  static std::string_view character_before(std::string_view text, std::size_t end) {
    std::size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80) --begin;
    return text.substr(begin, end - begin);
  }

  // No token has a space behind any other character than those of before_space_ (in real vocabularies there is none or
  // one), so that nothing merges across such a place: a text falls into words there, and the result is the same.
  std::size_t part_end(std::string_view text) const {
    for (std::size_t i = text.find(' ', 1); i != std::string_view::npos; i = text.find(' ', i + 1)) {
      if (text[i - 1] == ' ') continue;
      if (!before_space_.contains(character_before(text, i)) || longest_run(text.substr(i)) != 0) return i;
    }
    return text.size();
  }

  void encode_part(std::string_view part, Merger& merger, std::vector<TokenId>& out) const {
    merger.clear();
    for (std::size_t at = 0; at < part.size();) {
      const std::size_t length = utf8_sequence_length(part.substr(at));
      merger.add(at, length, index_.find(vocabulary_.pieces, part.substr(at, length)));
      at += length;
    }
    merger.merge([&](const Symbol& left, const Symbol& right) -> std::optional<Merged> {
      const TokenId id = index_.find(vocabulary_.pieces, part.substr(left.begin, left.length + right.length));
      if (id == kNoToken) return std::nullopt;
      return Merged{vocabulary_.ranks[static_cast<std::size_t>(id)], id};
    });
    bool unknown = false;  // the last symbol became an unknown token
    merger.for_each([&](const Symbol& s) {
      if (s.id != kNoToken) {
        out.push_back(s.id);
        unknown = false;
      } else {
        unknown = fall_back(part.substr(s.begin, s.length), unknown, out);
      }
    });
  }

  // The byte tokens of a character; true: one is missing, and the unknown token stands for it.
  bool fall_back(std::string_view character, bool after_unknown, std::vector<TokenId>& out) const {
    const auto token = [&](char c) { return vocabulary_.byte_tokens[static_cast<unsigned char>(c)]; };
    bool missing = false;
    for (const char c : character) missing = missing || token(c) == kNoToken;
    if (!missing) {
      for (const char c : character) out.push_back(token(c));
    } else if (!after_unknown) {
      out.push_back(vocabulary_.special.unknown);
    }
    return missing;
  }

  const Vocabulary& vocabulary_;
  PieceIndex index_;
  std::vector<TokenId> runs_;                          // by length; empty: there are none
  std::unordered_set<std::string_view> before_space_;  // views into the pieces
};

}  // namespace

Result<std::unique_ptr<Encoder>> make_sentence_piece_encoder(const Gguf& gguf, const Vocabulary& vocabulary) {
  bool all_bytes = true;
  for (const TokenId id : vocabulary.byte_tokens) all_bytes = all_bytes && id != kNoToken;
  if (!all_bytes && vocabulary.special.unknown == kNoToken)
    return vocabulary_error(gguf, "unknown_token_id", "is missing, and so are byte tokens that would take its place");
  return std::unique_ptr<Encoder>(std::make_unique<SentencePieceEncoder>(vocabulary));
}

}  // namespace krt::engine
