#include "engine/tokenizer/tokenizer_functions.h"

#include "runtime/registry/module_builder.h"

namespace krt::engine {
namespace {

Result<std::shared_ptr<const Tokenizer>> tokenizer_of(Context& context, Handle handle) {
  const Result<std::shared_ptr<const Value>> value = context.handles.get(handle);
  if (!value.ok()) return value.status();
  const ObjectRef* object = (*value)->get_if<ObjectRef>();
  const auto* has = object != nullptr ? dynamic_cast<const HasTokenizer*>(object->get()) : nullptr;
  if (has == nullptr)
    return invalid("argument 'model' must be a handle of engine.load or engine.open_tokenizer, names " +
                   type_text(**value));
  std::shared_ptr<const Tokenizer> tokenizer = has->tokenizer();
  if (tokenizer == nullptr) return invalid("argument 'model': its file has no tokenizer");
  return tokenizer;
}

}  // namespace

Result<TokenizerOpened> open_tokenizer(Context& context, std::string_view path) {
  const Result<std::shared_ptr<const GgufFile>> file = GgufFile::open(std::string(path));
  if (!file.ok()) return file.status();
  Result<std::shared_ptr<const Tokenizer>> tokenizer = Tokenizer::from_metadata((*file)->header());
  if (Status damaged = (*file)->intact(); !damaged.ok()) return damaged;
  if (!tokenizer.ok()) return tokenizer.status();
  const auto tokens = static_cast<std::int64_t>((*tokenizer)->size());
  const SpecialIds special = (*tokenizer)->vocabulary().special;
  const Result<Handle> handle = context.handles.put(
      ObjectRef(std::make_shared<TokenizerObject>(std::move(tokenizer).value())), std::string(path));
  if (!handle.ok()) return handle.status();
  return TokenizerOpened{*handle, tokens, special.bos, special.eos, special.unknown, special.padding};
}

Result<std::vector<std::int64_t>> tokenize(Context& context, Handle model, std::string_view text, bool add_special,
                                           bool parse_special) {
  const auto tokenizer = tokenizer_of(context, model);
  if (!tokenizer.ok()) return tokenizer.status();
  const Result<std::vector<TokenId>> ids = (*tokenizer)->encode(text, {add_special, parse_special});
  if (!ids.ok()) return ids.status();
  return std::vector<std::int64_t>(ids->begin(), ids->end());
}

Result<std::string> detokenize(Context& context, Handle model, std::span<const std::int64_t> ids, bool special) {
  const auto tokenizer = tokenizer_of(context, model);
  if (!tokenizer.ok()) return tokenizer.status();
  std::vector<TokenId> narrow;
  narrow.reserve(ids.size());
  for (const std::int64_t id : ids) {
    if (!(*tokenizer)->contains(id))
      return invalid("argument 'ids': token " + std::to_string(id) + " is outside the vocabulary of " +
                     std::to_string((*tokenizer)->size()) + " tokens");
    narrow.push_back(static_cast<TokenId>(id));
  }
  return (*tokenizer)->decode(narrow, {.special = special});
}

void register_tokenizer(Registry& registry) {
  ModuleBuilder m(registry, "engine", "Models: text to tokens, and what they say next");
  m.function<open_tokenizer>("open_tokenizer", "Opens the tokenizer of a GGUF file, whatever its weights are",
                             {{"path", "a file of the machine that the runtime is on"}})
      .details("Byte-level BPE (gpt-2, llama-bpe, qwen2, smollm) and SentencePiece (llama, gemma)")
      .caps({.side_effects = SideEffects::kReadsFiles});
  m.function<tokenize>("tokenize", "The token ids of a text",
                       {{"model", "a handle of engine.load or engine.open_tokenizer"},
                        {"text", "any bytes; what is no UTF-8 is read as U+FFFD"},
                        {"add_special", "the beginning and end of text too, where the model wants them", true},
                        {"parse_special", "<|im_end|> in the text is that token, not eleven characters", false}})
      .caps({.side_effects = SideEffects::kReadsFiles});
  m.function<detokenize>("detokenize", "The text of token ids",
                         {{"model", "a handle of engine.load or engine.open_tokenizer"},
                          {"ids", "tokens of the model"},
                          {"special", "control tokens are shown as their text, else left out", false}})
      .caps({.side_effects = SideEffects::kReadsFiles});
}

}  // namespace krt::engine
