#pragma once
// engine.open_tokenizer, engine.tokenize, engine.detokenize.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/tokenizer.h"
#include "runtime/exec/context.h"

namespace krt::engine {

// An object behind a handle that engine.tokenize takes: it also derives from this.
class HasTokenizer {
 public:
  virtual ~HasTokenizer() = default;
  // Null: the model's file has none.
  [[nodiscard]] virtual std::shared_ptr<const Tokenizer> tokenizer() const = 0;
};

// What the handle of engine.open_tokenizer names.
class TokenizerObject final : public Object, public HasTokenizer {
 public:
  explicit TokenizerObject(std::shared_ptr<const Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}
  [[nodiscard]] std::string_view type() const override { return "tokenizer"; }
  [[nodiscard]] std::shared_ptr<const Tokenizer> tokenizer() const override { return tokenizer_; }

 private:
  const std::shared_ptr<const Tokenizer> tokenizer_;
};

struct TokenizerOpened {
  Handle handle;
  std::int64_t tokens;
  std::int64_t bos;  // -1 in any of these: the model has none
  std::int64_t eos;
  std::int64_t unknown;
  std::int64_t padding;
  static constexpr std::array kFields{"handle", "tokens", "bos", "eos", "unknown", "padding"};
};
// The tokenizer of a GGUF file; the weights are not looked at.
Result<TokenizerOpened> open_tokenizer(Context& context, std::string_view path);
Result<std::vector<std::int64_t>> tokenize(Context& context, Handle model, std::string_view text, bool add_special,
                                           bool parse_special);
Result<std::string> detokenize(Context& context, Handle model, std::span<const std::int64_t> ids, bool special);

}  // namespace krt::engine
