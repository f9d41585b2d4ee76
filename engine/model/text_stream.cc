#include "engine/model/text_stream.h"

#include <utility>

namespace krt::engine {

TextStream::TextStream(const Tokenizer* tokenizer, std::vector<std::string> stops) : scanner_(std::move(stops)) {
  if (tokenizer != nullptr) decoder_.emplace(*tokenizer, DecodeOptions{.continues = true});
}

std::string TextStream::push(std::int64_t id) {
  return decoder_ ? scanner_.add(decoder_->push(static_cast<TokenId>(id))) : std::string();
}

std::string TextStream::finish() {
  if (!decoder_) return {};
  const std::string rest = scanner_.add(decoder_->finish());
  return rest + scanner_.finish();
}

Status write_all(Context& context, Generation& generation, TextStream& text,
                 const std::function<bool(const Written&)>& show) {
  while (generation.finish() == Finish::kNotYet) {
    const Result<std::optional<std::int64_t>> id = generation.next(context);
    if (!id.ok()) return id.status();
    if (!id->has_value()) break;
    const bool wanted = show({**id, text.push(**id)});
    if (text.stopped()) generation.end(Finish::kStopString);
    if (!wanted) generation.end(Finish::kCancelled);
  }
  if (generation.finish() == Finish::kCancelled) return {};
  if (const std::string rest = text.finish(); !rest.empty()) show({std::nullopt, rest});
  return {};
}

}  // namespace krt::engine
