#pragma once
// ChatTemplate: a conversation as the text that a chat model was trained to go on from.
//
// A model file carries its template as a Jinja program. Debian has no Jinja library for C++, so krt knows the templates
// of the models it runs by name and recognises them by what their text contains; any other is refused with the list.
// Left out are tools and images.
//
// Source: the templates in the models' own tokenizer_config.json, rendered by jinja2 (tests/oracle/chat_fixtures.py).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/core/status.h"

namespace krt::engine {

struct ChatMessage {
  std::string role;  // system, user, assistant
  std::string content;
};

class ChatTemplate {
 public:
  enum class Family : std::uint8_t { kChatMl, kQwen3, kLlama2, kLlama3, kLlama31, kGemma, kGemma2 };

  // `text` is the Jinja program under `tokenizer.chat_template`.
  static Result<ChatTemplate> recognised(std::string_view text);

  [[nodiscard]] Family family() const { return family_; }
  // What a conversation without a system message begins with; empty: nothing.
  [[nodiscard]] const std::string& default_system() const { return default_system_; }

  // The conversation as text, and, where `answer`, the opening of the assistant's next message. Without the beginning
  // of text, which Tokenizer::encode adds; control tokens in it are text, to be encoded with parse_special. Refused: no
  // messages, other roles, and, in the llama-2 and gemma templates, roles that do not alternate from the user on
  // (behind a system message; gemma 2 has none).
  [[nodiscard]] Result<std::string> render(std::span<const ChatMessage> messages, bool answer = true) const;

 private:
  ChatTemplate(Family family, std::string default_system, std::string date)
      : family_(family), default_system_(std::move(default_system)), date_(std::move(date)) {}

  Family family_;
  std::string default_system_;
  std::string date_;  // of llama-3.1's system message, which states one
};

}  // namespace krt::engine
