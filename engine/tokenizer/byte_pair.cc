#include "engine/tokenizer/byte_level.h"
#include "engine/tokenizer/encoder.h"
#include "engine/tokenizer/pre_tokenizer.h"

namespace krt::engine {
namespace {

constexpr std::string_view kMerges = "tokenizer.ggml.merges";

// From a pair of tokens to what they merge into: open addressing, at most half full.
class PairTable {
 public:
  explicit PairTable(std::size_t pairs) {
    std::size_t slots = 2;
    while (slots < 2 * pairs) slots *= 2;
    slots_.resize(slots);
  }
  // A pair that is there keeps its first rank.
  void insert(TokenId left, TokenId right, Merged merged) {
    Slot& slot = slots_[place(key(left, right))];
    if (slot.key == kFree) slot = {key(left, right), merged};
  }
  [[nodiscard]] std::optional<Merged> find(TokenId left, TokenId right) const {
    const Slot& slot = slots_[place(key(left, right))];
    return slot.key == kFree ? std::nullopt : std::optional<Merged>(slot.merged);
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};  // ids are not negative
  struct Slot {
    std::uint64_t key = kFree;
    Merged merged{};
  };
  static std::uint64_t key(TokenId left, TokenId right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32U | static_cast<std::uint32_t>(right);
  }
  [[nodiscard]] std::size_t place(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::uint64_t hash = key * 0x9E3779B97F4A7C15U;  // 2^64 over the golden ratio: Fibonacci hashing
    std::size_t i = (hash ^ hash >> 32U) & mask;
    while (slots_[i].key != kFree && slots_[i].key != key) i = (i + 1) & mask;
    return i;
  }
  std::vector<Slot> slots_;
};

class BytePairEncoder final : public Encoder {
 public:
  BytePairEncoder(const Vocabulary& vocabulary, const PreTokenizer& pre, PieceIndex words, PairTable pairs)
      : vocabulary_(vocabulary), pre_(pre), words_(std::move(words)), pairs_(std::move(pairs)) {}

  void encode(std::string_view text, Merger& merger, std::vector<TokenId>& out) const override {
    const std::string normal = pre_.composes ? composed(text) : std::string();
    pre_.for_each_word(pre_.composes ? normal : text, [&](std::string_view word) { encode_word(word, merger, out); });
  }

 private:
  void encode_word(std::string_view word, Merger& merger, std::vector<TokenId>& out) const {
    if (pre_.whole_words) {
      const TokenId id = words_.find(vocabulary_.pieces, word);
      if (id != kNoToken) return out.push_back(id);
    }
    merger.clear();
    for (std::size_t i = 0; i < word.size(); ++i) {
      const TokenId id = vocabulary_.byte_tokens[static_cast<unsigned char>(word[i])];
      if (id != kNoToken) merger.add(i, 1, id);
    }
    merger.merge([&](const Symbol& left, const Symbol& right) { return pairs_.find(left.id, right.id); });
    merger.for_each([&](const Symbol& s) { out.push_back(s.id); });
  }

  const Vocabulary& vocabulary_;
  const PreTokenizer& pre_;
  const PieceIndex words_;
  const PairTable pairs_;
};

// Index of the space between the two parts of a merge; npos where it is no two parts.
std::size_t middle(std::string_view merge) {
  const std::size_t space = merge.find(' ', 1);
  const bool two = space != std::string_view::npos && space + 1 < merge.size() &&
                   merge.find(' ', space + 1) == std::string_view::npos;
  return two ? space : std::string_view::npos;
}

}  // namespace

Result<std::unique_ptr<Encoder>> make_byte_pair_encoder(const Gguf& gguf, const Vocabulary& vocabulary) {
  const Result<std::string_view> pre = gguf.text("tokenizer.ggml.pre");
  if (!pre.ok()) return pre.status();
  const PreTokenizer* known = pre_tokenizer_named(*pre);  // Vocabulary::read refused all others
  const Result<std::vector<std::string_view>> merges = gguf.texts(kMerges);
  if (!merges.ok()) return merges.status();

  PieceIndex words(vocabulary.size());
  for (TokenId id = 0; id < static_cast<TokenId>(vocabulary.size()); ++id)
    if (vocabulary.type(id) == TokenType::kNormal) words.insert(vocabulary.pieces, id);

  PairTable pairs(merges->size());
  std::string bytes;
  for (std::size_t i = 0; i < merges->size(); ++i) {
    const std::string_view merge = (*merges)[i];
    const auto refuse = [&](const char* what) {
      return vocabulary_error(gguf, "merges", "merge " + std::to_string(i) + " " + quoted(merge) + " " + what);
    };
    const std::size_t space = middle(merge);
    if (space == std::string_view::npos) return refuse("is no two tokens with a space between them");
    bytes.clear();
    const bool first = append_spelled_bytes(merge.substr(0, space), bytes);
    const std::size_t half = bytes.size();
    if (!first || !append_spelled_bytes(merge.substr(space + 1), bytes)) return refuse("is not byte-level text");
    const std::string_view whole = bytes;
    const TokenId left = words.find(vocabulary.pieces, whole.substr(0, half));
    const TokenId right = words.find(vocabulary.pieces, whole.substr(half));
    const TokenId both = words.find(vocabulary.pieces, whole);
    if (left == kNoToken || right == kNoToken || both == kNoToken)
      return refuse("has a part or a result that is no token");
    pairs.insert(left, right, {static_cast<std::uint32_t>(i), both});
  }
  return std::unique_ptr<Encoder>(
      std::make_unique<BytePairEncoder>(vocabulary, *known, std::move(words), std::move(pairs)));
}

}  // namespace krt::engine
