#pragma once
// Conversation: a chat with a model, turn by turn.
//
// Each turn the model's chat template writes the whole conversation. Where that text goes on from what the sequence has
// read, prompts and answers, only the rest is read; else (a template that leaves out earlier thoughts or trims an
// answer, an answer that a stop string or an interrupt ended inside a character) a new sequence reads all of it. The
// answers are the same either way, but for answers whose tokens are not those that the tokenizer gives for their text.

#include <memory>
#include <string>
#include <vector>

#include "engine/model/generation.h"
#include "engine/model/text_stream.h"

namespace krt::engine {

class Conversation {
 public:
  // `system`: the system message; empty: what the template has by default. Refused: a model without a tokenizer or with
  // a chat template that krt does not know (Tokenizer::chat), and a capacity out of range.
  static Result<Conversation> start(std::shared_ptr<const Model> model, const SequenceOptions& options,
                                    std::string system);

  struct Turn {
    std::string answer;
    Finish finish = Finish::kNotYet;
    std::int64_t read = 0;     // tokens of the prompt that were read this turn
    std::int64_t written = 0;  // tokens of the answer
  };
  // The model's answer to the user's next message, piece by piece. `options` lack end tokens; an answer is no longer
  // than there is room for. `show` answers false to end it. A cancelled call ends it too, and is no failure. What is
  // refused (a conversation that has no room left, a message that the template refuses) leaves the conversation as it
  // was.
  Result<Turn> ask(Context& context, std::string message, GenerateOptions options,
                   const std::vector<std::string>& stops, const std::function<bool(const Written&)>& show,
                   const Generation::Progress& progress = {});

  // Forgets everything but the system message.
  void clear();
  [[nodiscard]] const std::vector<ChatMessage>& messages() const { return messages_; }

 private:
  Conversation(std::shared_ptr<const Model> model, const SequenceOptions& options, std::int64_t capacity,
               std::string system);
  [[nodiscard]] Result<std::vector<std::int64_t>> prompt_for(std::string_view text);
  Result<Turn> answer(Context& context, const std::string& text, GenerateOptions options,
                      const std::vector<std::string>& stops, const std::function<bool(const Written&)>& show,
                      const Generation::Progress& progress);

  std::shared_ptr<const Model> model_;
  SequenceOptions options_;
  std::vector<std::int64_t> end_tokens_;
  std::string system_;
  std::vector<ChatMessage> messages_;
  std::unique_ptr<Sequence> sequence_;  // null: nothing was read
  std::vector<std::int64_t> ids_;       // that it goes on from: all but perhaps the last have been read
  std::string text_;                    // and what they are
};

}  // namespace krt::engine
