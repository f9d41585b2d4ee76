#include "engine/model/prompt.h"

namespace krt::engine {

Result<std::vector<std::int64_t>> encode_prompt(const Model& model, std::string_view text, bool parse_special) {
  const auto tokenizer = model.tokenizer();
  if (tokenizer == nullptr) return invalid("the model file has no tokenizer: the prompt must be token ids");
  const Result<std::vector<TokenId>> ids = tokenizer->encode(text, {.parse_special = parse_special});
  if (!ids.ok()) return ids.status();
  return std::vector<std::int64_t>(ids->begin(), ids->end());
}

std::vector<std::int64_t> end_tokens(const Model& model) {
  std::vector<std::int64_t> out;
  const auto tokenizer = model.tokenizer();
  for (std::size_t id = 0; tokenizer != nullptr && id < tokenizer->size(); ++id)
    if (tokenizer->ends_generation(static_cast<TokenId>(id))) out.push_back(static_cast<std::int64_t>(id));
  return out;
}

}  // namespace krt::engine
