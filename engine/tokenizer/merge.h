#pragma once
// The loop that byte-pair encoding and SentencePiece share: of all neighbours that may merge, the pair with the lowest
// rank merges, the leftmost of equals, until none may. O(n log n) in the length of the word.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/tokenizer/pieces.h"

namespace krt::engine {

// A part of a word: a byte or character at first, then what merged.
struct Symbol {
  std::uint32_t begin = 0, length = 0;  // in the word; length 0: it merged into the one before it
  TokenId id = kNoToken;
  std::uint32_t prev = 0, next = 0;  // in the list of symbols
};

struct Merged {
  std::uint32_t rank;
  TokenId id;
};

class Merger {
 public:
  // The symbols of the word, to be filled in by add() before merge().
  void clear() { symbols_.clear(); }
  void add(std::size_t begin, std::size_t length, TokenId id) {
    const auto i = static_cast<std::uint32_t>(symbols_.size());
    symbols_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(length), id, i - 1, i + 1});
  }

  // `rule(left, right)`, two Symbols, is std::optional<Merged>.
  template <class Rule>
  void merge(const Rule& rule) {
    heap_.clear();
    for (std::uint32_t i = 1; i < symbols_.size(); ++i)
      if (const std::optional<Merged> m = rule(symbols_[i - 1], symbols_[i])) heap_.push_back(candidate(i - 1, i, *m));
    std::make_heap(heap_.begin(), heap_.end(), later);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      const Candidate c = heap_.back();
      heap_.pop_back();
      Symbol& left = symbols_[c.left];
      // Symbols only grow, so that the pair is as it was when it was found exactly if its length is.
      if (left.length == 0 || left.next >= symbols_.size() || left.length + symbols_[left.next].length != c.length)
        continue;
      join(left, c);
      if (c.left != 0) propose(rule, left.prev, c.left);
      if (left.next < symbols_.size()) propose(rule, c.left, left.next);
    }
  }

  // What is left, in order.
  template <class F>
  void for_each(const F& f) const {
    for (std::uint32_t i = 0; i < symbols_.size(); i = symbols_[i].next) f(symbols_[i]);
  }

 private:
  struct Candidate {
    std::uint32_t rank, left, length;
    TokenId id;
  };
  static bool later(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  }
  [[nodiscard]] Candidate candidate(std::uint32_t left, std::uint32_t right, Merged m) const {
    return {m.rank, left, symbols_[left].length + symbols_[right].length, m.id};
  }

  void join(Symbol& left, const Candidate& c) {
    Symbol& right = symbols_[left.next];
    left.length = c.length;
    left.id = c.id;
    left.next = right.next;
    right.length = 0;
    if (left.next < symbols_.size()) symbols_[left.next].prev = c.left;
  }

  template <class Rule>
  void propose(const Rule& rule, std::uint32_t left, std::uint32_t right) {
    const std::optional<Merged> m = rule(symbols_[left], symbols_[right]);
    if (!m) return;
    heap_.push_back(candidate(left, right, *m));
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace krt::engine
