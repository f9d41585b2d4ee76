#include "engine/tokenizer/added_tokens.h"

#include "runtime/core/utf8.h"

namespace krt::engine {

AddedTokens::AddedTokens(const Vocabulary& vocabulary) : nodes_(1) {
  for (TokenId id = 0; id < static_cast<TokenId>(vocabulary.size()); ++id) {
    const std::string_view piece = vocabulary.pieces[id];
    const bool special = vocabulary.is_special(id);
    if (piece.empty() || !is_utf8(piece) || (!special && vocabulary.type(id) != TokenType::kUserDefined)) continue;
    insert(vocabulary.is_space_run(id) ? spaces_escaped(piece) : std::string(piece), id, special);
  }
}

void AddedTokens::insert(std::string_view text, TokenId id, bool special) {
  begins_[static_cast<unsigned char>(text[0])] = true;
  std::uint32_t node = 0;
  for (const char c : text) {
    const auto [child, fresh] = children_.try_emplace(std::uint64_t{node} << 8U | static_cast<unsigned char>(c),
                                                      static_cast<std::uint32_t>(nodes_.size()));
    if (fresh) nodes_.emplace_back();
    node = child->second;
  }
  if (nodes_[node].id == kNoToken) nodes_[node] = {id, special};
}

AddedTokens::Found AddedTokens::longest_at(std::string_view text, std::size_t at) const {
  Found found;
  std::uint32_t node = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const auto child = children_.find(std::uint64_t{node} << 8U | static_cast<unsigned char>(text[i]));
    if (child == children_.end()) break;
    node = child->second;
    if (nodes_[node].id != kNoToken) found = {at, i + 1 - at, nodes_[node].id, nodes_[node].special};
  }
  return found;
}

AddedTokens::Found AddedTokens::find(std::string_view text, std::size_t from, bool special) const {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!begins_[static_cast<unsigned char>(text[at])]) continue;
    const Found found = longest_at(text, at);
    if (found.id == kNoToken) continue;
    if (special || !found.special) return found;
    at += found.length - 1;
  }
  return {text.size(), 0};
}

}  // namespace krt::engine
