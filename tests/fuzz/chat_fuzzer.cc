// A chat template and a conversation, separated by NULs: the template, then for each message its role and its content.
// What is rendered is UTF-8 where the template's own text is; what is refused is refused with a sentence.

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "engine/tokenizer/chat_template.h"
#include "runtime/core/utf8.h"

namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << what << '\n';
  std::abort();
}

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == '\0')
      out.emplace_back();
    else
      out.back().push_back(c);
  }
  return out;
}

// One letter is enough for a role.
std::string role_of(const std::string& text) {
  return text == "s" ? "system" : text == "u" ? "user" : text == "a" ? "assistant" : text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace krt::engine;
  const std::vector<std::string> parts = parts_of({reinterpret_cast<const char*>(data), size});
  const auto chat = ChatTemplate::recognised(parts[0]);
  if (!chat.ok()) {
    require(chat.status().message().starts_with("key 'tokenizer.chat_template': "), "refused without the key");
    return 0;
  }
  std::vector<ChatMessage> messages;
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2) messages.push_back({role_of(parts[i]), parts[i + 1]});
  for (const bool answer : {true, false}) {
    const auto text = chat->render(messages, answer);
    require(text.ok() != !text.status().message().empty(), "refused without a sentence");
    if (text.ok() && krt::is_utf8(parts[0])) require(krt::is_utf8(*text), "ill-formed text");
  }
  return 0;
}
