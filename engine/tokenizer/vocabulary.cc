#include "engine/tokenizer/vocabulary.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "engine/tokenizer/byte_level.h"
#include "engine/tokenizer/pre_tokenizer.h"

namespace krt::engine {
namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";
constexpr std::string_view kBlank = "\xE2\x96\x81";  // U+2581

// Control tokens after which no model goes on, whatever the file calls its end.
constexpr std::array<std::string_view, 9> kEnds{"<|eot_id|>",      "<|eom_id|>",    "<|im_end|>",
                                                "<|end|>",         "<end_of_turn>", "<|endoftext|>",
                                                "<|end_of_text|>", "</s>",          "<eos>"};

// The order of floats as the order of integers, greatest first.
std::uint32_t rank_of(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);  // -0 becomes 0
  return (bits & 0x80000000U) != 0 ? bits : ~(bits | 0x80000000U);
}

// The byte of "<0xHH>"; -1: the text is no such.
int spelled_byte(std::string_view text) {
  unsigned byte = 0;
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
  return error == std::errc() && end == text.data() + 5 ? static_cast<int>(byte) : -1;
}

class VocabularyReader {
 public:
  explicit VocabularyReader(const Gguf& gguf) : gguf_(gguf) {}

  Result<Vocabulary> read() {
    for (const auto step :
         {&VocabularyReader::model, &VocabularyReader::tokens, &VocabularyReader::types, &VocabularyReader::scores,
          &VocabularyReader::pieces, &VocabularyReader::special_ids, &VocabularyReader::flags, &VocabularyReader::ends})
      if (Status refused = (this->*step)(); !refused.ok()) return refused;
    return std::move(out_);
  }

 private:
  static std::string full(std::string_view key) { return std::string(kPrefix) + std::string(key); }
  [[nodiscard]] bool has(std::string_view key) const { return gguf_.find(full(key)) != nullptr; }
  [[nodiscard]] Status refuse(std::string_view key, const std::string& what) const {
    return vocabulary_error(gguf_, key, what);
  }

  Status model() {
    const Result<std::string_view> name = gguf_.text(full("model"));
    if (!name.ok()) return name.status();
    if (*name == "gpt2") {
      out_.model = TokenizerModel::kBytePair;
    } else if (*name == "llama") {
      out_.model = TokenizerModel::kSentencePiece;
    } else {
      return refuse("model", "krt has no tokenizer " + quoted(*name) + "; it has gpt2, llama");
    }
    return {};
  }

  Status tokens() {
    Result<std::vector<std::string_view>> texts = gguf_.texts(full("tokens"));
    if (!texts.ok()) return texts.status();
    texts_ = std::move(texts).value();
    if (texts_.empty()) return refuse("tokens", "there are none");
    if (texts_.size() > std::numeric_limits<TokenId>::max()) return refuse("tokens", "more than 2^31 - 1");
    std::unordered_map<std::string_view, std::size_t> seen;
    seen.reserve(texts_.size());
    for (std::size_t i = 0; i < texts_.size(); ++i)
      if (const auto [it, fresh] = seen.emplace(texts_[i], i); !fresh && !texts_[i].empty())
        return refuse("tokens", "tokens " + std::to_string(it->second) + " and " + std::to_string(i) + " are both " +
                                    quoted(texts_[i]));
    return {};
  }

  // An array with a number for every token.
  Result<std::vector<double>> per_token(std::string_view key) const {
    Result<std::vector<double>> numbers = gguf_.numbers(full(key));
    if (numbers.ok() && numbers->size() != texts_.size())
      return refuse(
          key, "has " + std::to_string(numbers->size()) + " elements for " + std::to_string(texts_.size()) + " tokens");
    return numbers;
  }

  Status types() {
    const Result<std::vector<double>> numbers = per_token("token_type");
    if (!numbers.ok()) return numbers.status();
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      const double n = (*numbers)[i];
      if (!(n >= 1 && n <= 6 && n == std::floor(n)))
        return refuse("token_type", "token " + std::to_string(i) + " has a type that is none of 1 to 6");
      out_.types.push_back(static_cast<TokenType>(static_cast<int>(n)));
    }
    return {};
  }

  Status scores() {
    if (out_.model != TokenizerModel::kSentencePiece) return {};
    const Result<std::vector<double>> numbers = per_token("scores");
    if (!numbers.ok()) return numbers.status();
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      const auto score = static_cast<float>((*numbers)[i]);
      if (!std::isfinite(score)) return refuse("scores", "the score of token " + std::to_string(i) + " is not finite");
      out_.ranks.push_back(rank_of(score));
    }
    return {};
  }

  Status pieces() {
    std::size_t bytes = 0;
    for (const std::string_view text : texts_) bytes += text.size();
    out_.pieces.reserve(texts_.size(), bytes);
    out_.byte_tokens.fill(kNoToken);
    for (std::size_t i = 0; i < texts_.size(); ++i)
      if (Status refused = piece(i); !refused.ok()) return refused;
    return {};
  }

  Status piece(std::size_t i) {
    const bool spelled = out_.model == TokenizerModel::kBytePair &&
                         (out_.types[i] == TokenType::kNormal || out_.types[i] == TokenType::kUnused);
    std::string piece;
    if (out_.types[i] == TokenType::kByte) {
      const int byte = spelled_byte(texts_[i]);
      if (byte < 0)
        return refuse("tokens", "byte token " + std::to_string(i) + " is " + quoted(texts_[i]) + ", must be <0xHH>");
      piece.push_back(static_cast<char>(byte));
    } else if (out_.model == TokenizerModel::kSentencePiece) {
      piece = spaces_restored(texts_[i]);
    } else if (!spelled || !append_spelled_bytes(texts_[i], piece)) {
      piece = texts_[i];
    }
    const bool is_byte = out_.types[i] == TokenType::kByte || (spelled && piece.size() == 1);
    if (is_byte) out_.byte_tokens[static_cast<unsigned char>(piece[0])] = static_cast<TokenId>(i);
    out_.pieces.add(piece);
    return {};
  }

  // The id under `key`; `fallback` where there is no such key.
  Result<TokenId> id(std::string_view key, TokenId fallback) const {
    if (!has(key)) return fallback;
    const Result<std::int64_t> n = gguf_.integer(full(key));
    if (!n.ok()) return n.status();
    if (*n < 0 || *n >= std::ssize(texts_))
      return refuse(key,
                    std::to_string(*n) + " is outside the vocabulary of " + std::to_string(texts_.size()) + " tokens");
    return static_cast<TokenId>(*n);
  }

  Status special_ids() {
    // SentencePiece's own defaults, where the type agrees.
    const bool sp = out_.model == TokenizerModel::kSentencePiece;
    const auto fallback = [&](std::size_t i, TokenType type) {
      return sp && i < texts_.size() && out_.types[i] == type ? static_cast<TokenId>(i) : kNoToken;
    };
    const struct {
      std::string_view key;
      TokenId* to;
      TokenId fallback;
    } rows[] = {{"bos_token_id", &out_.special.bos, fallback(1, TokenType::kControl)},
                {"eos_token_id", &out_.special.eos, fallback(2, TokenType::kControl)},
                {"unknown_token_id", &out_.special.unknown, fallback(0, TokenType::kUnknown)},
                {"padding_token_id", &out_.special.padding, kNoToken}};
    for (const auto& row : rows) {
      const Result<TokenId> found = id(row.key, row.fallback);
      if (!found.ok()) return found.status();
      *row.to = *found;
    }
    return {};
  }

  Status flag(std::string_view key, bool fallback, bool& out) const {
    out = fallback;
    if (!has(key)) return {};
    const Result<bool> value = gguf_.flag(full(key));
    if (!value.ok()) return value.status();
    out = *value;
    return {};
  }

  Status flags() {
    const bool sp = out_.model == TokenizerModel::kSentencePiece;
    bool begins = sp;
    if (!sp) {
      const Result<std::string_view> pre = gguf_.text(full("pre"));
      if (!pre.ok()) return pre.status();
      const PreTokenizer* known = pre_tokenizer_named(*pre);
      if (known == nullptr)
        return refuse("pre", "krt has no pre-tokenizer " + quoted(*pre) + "; it has " + pre_tokenizer_names());
      begins = known->begins_text;
    }
    if (Status refused = flag("add_bos_token", begins, out_.add_bos); !refused.ok()) return refused;
    if (Status refused = flag("add_eos_token", false, out_.add_eos); !refused.ok()) return refused;
    if (Status refused = flag("add_space_prefix", sp, out_.add_space_prefix); !refused.ok()) return refused;
    if (out_.add_bos && out_.special.bos == kNoToken)
      return refuse("bos_token_id", "is missing, but the token is added to every text");
    if (out_.add_eos && out_.special.eos == kNoToken)
      return refuse("eos_token_id", "is missing, but the token is added to every text");
    return {};
  }

  Status ends() {
    out_.ends_generation.assign(texts_.size(), false);
    const auto add = [&](TokenId id) {
      if (id != kNoToken) out_.ends_generation[static_cast<std::size_t>(id)] = true;
    };
    add(out_.special.eos);
    for (const std::string_view key : {"eot_token_id", "eom_token_id"}) {
      const Result<TokenId> found = id(key, kNoToken);
      if (!found.ok()) return found.status();
      add(*found);
    }
    for (std::size_t i = 0; i < texts_.size(); ++i)
      if (out_.types[i] == TokenType::kControl && std::find(kEnds.begin(), kEnds.end(), texts_[i]) != kEnds.end())
        add(static_cast<TokenId>(i));
    return {};
  }

  const Gguf& gguf_;
  std::vector<std::string_view> texts_;
  Vocabulary out_;
};

}  // namespace

Result<Vocabulary> Vocabulary::read(const Gguf& gguf) { return VocabularyReader(gguf).read(); }

Status vocabulary_error(const Gguf& gguf, std::string_view key, const std::string& what) {
  return invalid(gguf.name() + ": key " + quoted(std::string(kPrefix) + std::string(key)) + ": " + what);
}

std::string spaces_restored(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = text.find(kBlank); at != std::string_view::npos; at = text.find(kBlank)) {
    out += text.substr(0, at);
    out += ' ';
    text.remove_prefix(at + kBlank.size());
  }
  return out += text;
}

std::string spaces_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ')
      out += kBlank;
    else
      out += c;
  }
  return out;
}

}  // namespace krt::engine
