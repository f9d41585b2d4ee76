#include "engine/model/conversation.h"

#include <algorithm>

#include "engine/model/prompt.h"

namespace krt::engine {

Result<Conversation> Conversation::start(std::shared_ptr<const Model> model, const SequenceOptions& options,
                                         std::string system) {
  if (model->tokenizer() == nullptr) return invalid("the model file has no tokenizer");
  if (const auto& chat = model->tokenizer()->chat(); !chat.ok()) return chat.status();
  const Result<std::int64_t> capacity = capacity_of(model->config(), options);
  if (!capacity.ok()) return capacity.status();
  return Conversation(std::move(model), options, *capacity, std::move(system));
}

Conversation::Conversation(std::shared_ptr<const Model> model, const SequenceOptions& options, std::int64_t capacity,
                           std::string system)
    : model_(std::move(model)), options_(options), end_tokens_(end_tokens(*model_)), system_(std::move(system)) {
  options_.capacity = capacity;
  clear();
}

void Conversation::clear() {
  messages_.clear();
  if (!system_.empty()) messages_.push_back({"system", system_});
  sequence_.reset();
}

// The ids of the conversation; those of its beginning are kept where the sequence has read that.
Result<std::vector<std::int64_t>> Conversation::prompt_for(std::string_view text) {
  if (sequence_ == nullptr || !text.starts_with(text_) || text.size() == text_.size()) {
    sequence_.reset();
    return encode_prompt(*model_, text, true);
  }
  const auto rest =
      model_->tokenizer()->encode(text.substr(text_.size()), {.add_special = false, .parse_special = true});
  if (!rest.ok()) return rest.status();
  std::vector<std::int64_t> ids = ids_;
  ids.insert(ids.end(), rest->begin(), rest->end());
  return ids;
}

Result<Conversation::Turn> Conversation::ask(Context& context, std::string message, GenerateOptions options,
                                             const std::vector<std::string>& stops,
                                             const std::function<bool(const Written&)>& show,
                                             const Generation::Progress& progress) {
  messages_.push_back({"user", std::move(message)});
  const Result<std::string> text = model_->tokenizer()->chat()->render(messages_);
  Result<Turn> turn = text.ok() ? answer(context, *text, std::move(options), stops, show, progress) : text.status();
  if (turn.ok())
    messages_.push_back({"assistant", turn->answer});
  else
    messages_.pop_back();
  return turn;
}

Result<Conversation::Turn> Conversation::answer(Context& context, const std::string& text, GenerateOptions options,
                                                const std::vector<std::string>& stops,
                                                const std::function<bool(const Written&)>& show,
                                                const Generation::Progress& progress) {
  const auto ids = prompt_for(text);
  if (!ids.ok()) return ids.status();
  const std::int64_t room = options_.capacity - std::ssize(*ids);
  if (room < 1)
    return invalid("the conversation has " + std::to_string(ids->size()) + " tokens, and room is for " +
                   std::to_string(options_.capacity));
  if (sequence_ == nullptr) {
    auto sequence = model_->start(context, options_);
    if (!sequence.ok()) return sequence.status();
    sequence_ = std::move(sequence).value();
  }
  Turn turn;
  const std::int64_t held = sequence_->position();
  options.max_tokens = std::min(options.max_tokens, room);
  options.end_tokens = end_tokens_;
  Generation generation(*model_, std::move(sequence_), std::move(options));
  TextStream stream(model_->tokenizer().get(), stops);
  Status failed = generation.prefill(context, *ids, progress);
  turn.read = generation.sequence().position() - held;
  if (failed.ok())
    failed = write_all(context, generation, stream, [&](const Written& written) {
      turn.written += written.id ? 1 : 0;
      turn.answer += written.piece;
      return show(written);
    });
  turn.finish = generation.finish();
  if (failed.reason() == Reason::kCancelled) {  // the sequence is good for nothing more
    turn.finish = Finish::kCancelled;
    return turn;
  }
  if (!failed.ok()) return failed;
  ids_.assign(generation.ids().begin(), generation.ids().end());
  const std::vector<TokenId> written(ids_.end() - turn.written, ids_.end());
  text_ = text + model_->tokenizer()->decode(written, {.continues = true}).value();
  sequence_ = generation.take_sequence();
  return turn;
}

}  // namespace krt::engine
