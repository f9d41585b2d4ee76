#pragma once
// Pieces: the bytes that every token of a vocabulary stands for, in one allocation; and an index from bytes to tokens.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace krt::engine {

using TokenId = std::int32_t;
inline constexpr TokenId kNoToken = -1;

class Pieces {
 public:
  void reserve(std::size_t tokens, std::size_t bytes) {
    ends_.reserve(tokens);
    bytes_.reserve(bytes);
  }
  void add(std::string_view piece) {
    bytes_ += piece;
    ends_.push_back(bytes_.size());
  }
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] std::string_view operator[](TokenId id) const {
    const auto i = static_cast<std::size_t>(id);
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

// Some of the pieces by their bytes: open addressing, at most half full.
class PieceIndex {
 public:
  PieceIndex() : slots_(2, kNoToken) {}
  // Room for `tokens` of them.
  explicit PieceIndex(std::size_t tokens) {
    std::size_t slots = 2;
    while (slots < 2 * tokens) slots *= 2;
    slots_.assign(slots, kNoToken);
  }
  // The token that has the same bytes already, or kNoToken. An empty piece is left out.
  TokenId insert(const Pieces& pieces, TokenId id) {
    const std::string_view piece = pieces[id];
    if (piece.empty()) return kNoToken;
    TokenId& slot = slots_[place(pieces, piece)];
    if (slot != kNoToken) return slot;
    slot = id;
    longest_ = std::max(longest_, piece.size());
    return kNoToken;
  }
  [[nodiscard]] TokenId find(const Pieces& pieces, std::string_view piece) const {
    return piece.size() > longest_ ? kNoToken : slots_[place(pieces, piece)];
  }

 private:
  [[nodiscard]] std::size_t place(const Pieces& pieces, std::string_view piece) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = std::hash<std::string_view>{}(piece)&mask;
    while (slots_[i] != kNoToken && pieces[slots_[i]] != piece) i = (i + 1) & mask;
    return i;
  }

  std::vector<TokenId> slots_;
  std::size_t longest_ = 0;
};

}  // namespace krt::engine
