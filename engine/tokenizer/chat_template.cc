#include "engine/tokenizer/chat_template.h"

#include <algorithm>
#include <vector>

#include "engine/tokenizer/unicode.h"
#include "runtime/core/utf8.h"

namespace krt::engine {
namespace {

using Family = ChatTemplate::Family;
using Messages = std::span<const ChatMessage>;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// As Python's str.strip() and Jinja's trim do it: White_Space and the separators U+001C to U+001F.
std::string_view trimmed(std::string_view text) {
  std::size_t begin = std::string_view::npos, end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Char c = char_at(text, at);
    if (c.kind != CharClass::kSpace && (c.code < 0x1C || c.code > 0x1F)) {
      begin = std::min(begin, at);
      end = at + c.bytes;
    }
    at += c.bytes;
  }
  return end == 0 ? std::string_view() : text.substr(begin, end - begin);
}

std::string_view without_front(std::string_view text, char c) {
  return text.substr(std::min(text.find_first_not_of(c), text.size()));
}
std::string_view without_back(std::string_view text, char c) { return text.substr(0, text.find_last_not_of(c) + 1); }

// What a ChatML template writes for a conversation without a system message: the text between its own
// "<|im_start|>system\n" and "<|im_end|>", where that is text and no expression.
std::string chatml_default_system(std::string_view text) {
  constexpr std::string_view kOpen = "<|im_start|>system", kClose = "<|im_end|>";
  for (std::size_t at = text.find(kOpen); at != std::string_view::npos; at = text.find(kOpen, at + 1)) {
    std::string_view rest = text.substr(at + kOpen.size());
    const std::size_t newline = rest.starts_with("\\n") ? 2 : rest.starts_with('\n') ? 1 : 0;
    if (newline == 0) continue;
    rest.remove_prefix(newline);
    const std::string_view system = rest.substr(0, rest.find(kClose));
    if (system.size() < rest.size() && system.find_first_of("'\"{}+\\") == std::string_view::npos)
      return std::string(system);
  }
  return {};
}

// The date in `date_string = "26 Jul 2024"`.
std::string date_of(std::string_view text) {
  constexpr std::string_view kKey = "date_string = \"";
  const std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + kKey.size());
  return std::string(rest.substr(0, rest.find('"')));
}

void turn(std::string& out, std::string_view role, std::string_view content) {
  out.append("<|im_start|>").append(role).append("\n").append(content).append("<|im_end|>\n");
}

// An assistant's message: its thoughts are kept only where no user's message follows.
void qwen3_answer(std::string& out, std::string_view text, bool after_last_user, bool last) {
  std::string_view thoughts, content = text;
  if (const std::size_t end = text.rfind("</think>"); end != std::string_view::npos) {
    thoughts = without_back(text.substr(0, text.find("</think>")), '\n');
    if (const std::size_t begin = thoughts.rfind("<think>"); begin != std::string_view::npos)
      thoughts.remove_prefix(begin + 7);
    thoughts = without_front(thoughts, '\n');
    content = without_front(text.substr(end + 8), '\n');
  }
  if (!after_last_user || (!last && thoughts.empty())) return turn(out, "assistant", content);
  thoughts = without_back(without_front(thoughts, '\n'), '\n');
  turn(out, "assistant",
       "<think>\n" + std::string(thoughts) + "\n</think>\n\n" + std::string(without_front(content, '\n')));
}

std::string chatml(Messages messages, bool thinks, const std::string& default_system, bool answer) {
  std::string out;
  if (messages[0].role != "system" && !default_system.empty()) turn(out, "system", default_system);
  std::size_t last_user = messages.size() - 1;
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (messages[i].role == "user") last_user = i;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& m = messages[i];
    if (thinks && m.role == "assistant")
      qwen3_answer(out, m.content, i > last_user, i + 1 == messages.size());
    else
      turn(out, m.role, m.content);
  }
  if (answer) out += "<|im_start|>assistant\n";
  return out;
}

void header(std::string& out, std::string_view role) {
  out.append("<|start_header_id|>").append(role).append("<|end_header_id|>\n\n");
}

// `date`: llama-3.1 and later, whose system message is always there and states it.
std::string llama3(Messages messages, const std::string& date, bool answer) {
  std::string out;
  if (!date.empty()) {
    header(out, "system");
    out += "Cutting Knowledge Date: December 2023\nToday Date: " + date + "\n\n";
    if (messages[0].role == "system") {
      out += trimmed(messages[0].content);
      messages = messages.subspan(1);
    }
    out += "<|eot_id|>";
  }
  for (const ChatMessage& m : messages) {
    header(out, m.role);
    out.append(trimmed(m.content)).append("<|eot_id|>");
  }
  if (answer) header(out, "assistant");
  return out;
}

// The answer needs no opening: it follows "[/INST]".
std::string llama2(Messages messages) {
  std::string out, system;
  if (messages[0].role == "system") {
    system = "<<SYS>>\n" + messages[0].content + "\n<</SYS>>\n\n";
    messages = messages.subspan(1);
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string content = (i == 0 ? system : "") + messages[i].content;
    if (messages[i].role == "user")
      out.append(i == 0 ? "" : "<s>").append("[INST] ").append(trimmed(content)).append(" [/INST]");
    else
      out.append(" ").append(trimmed(content)).append(" </s>");
  }
  return out;
}

std::string gemma(Messages messages, bool answer) {
  std::string out, system;
  if (messages[0].role == "system") {
    system = messages[0].content + "\n\n";
    messages = messages.subspan(1);
  }
  for (const ChatMessage& m : messages) {
    out.append("<start_of_turn>").append(m.role == "user" ? "user" : "model").append("\n");
    if (&m == messages.data()) out += system;
    out.append(trimmed(m.content)).append("<end_of_turn>\n");
  }
  if (answer) out += "<start_of_turn>model\n";
  return out;
}

Status check(Messages messages, Family family) {
  if (messages.empty()) return invalid("a conversation needs a message");
  const bool alternates = family == Family::kLlama2 || family == Family::kGemma || family == Family::kGemma2;
  const auto refuse = [](std::size_t i, const std::string& what) {
    return invalid("message " + std::to_string(i) + what);
  };
  const std::size_t first = messages[0].role == "system" ? 1 : 0;
  if (first == 1 && family == Family::kGemma2) return refuse(0, ": this model's chat template has no system message");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (role != "system" && role != "user" && role != "assistant")
      return refuse(i, " has role " + quoted(role) + ", must be system, user or assistant");
    if (alternates && i >= first && role != ((i - first) % 2 == 0 ? "user" : "assistant"))
      return refuse(i, ": user and assistant must alternate, the user first");
  }
  if (alternates && first == messages.size()) return invalid("a conversation needs a message of the user");
  return {};
}

}  // namespace

Result<ChatTemplate> ChatTemplate::recognised(std::string_view text) {
  if (has(text, "<|im_start|>") && has(text, "<|im_end|>")) {
    const Family family = has(text, "</think>") ? Family::kQwen3 : Family::kChatMl;
    return ChatTemplate(family, chatml_default_system(text), {});
  }
  if (has(text, "<|start_header_id|>") && has(text, "<|eot_id|>")) {
    if (!has(text, "Cutting Knowledge Date")) return ChatTemplate(Family::kLlama3, {}, {});
    if (std::string date = date_of(text); !date.empty()) return ChatTemplate(Family::kLlama31, {}, std::move(date));
  }
  if (has(text, "<start_of_turn>") && has(text, "<end_of_turn>"))
    return ChatTemplate(has(text, "System role not supported") ? Family::kGemma2 : Family::kGemma, {}, {});
  if (has(text, "[INST]") && has(text, "<<SYS>>")) return ChatTemplate(Family::kLlama2, {}, {});
  return invalid(
      "key 'tokenizer.chat_template': krt does not know this chat template; it knows those of ChatML (SmolLM2, Qwen), "
      "Qwen3, Llama 2, Llama 3, Llama 3.1, Gemma 2 and Gemma 3");
}

Result<std::string> ChatTemplate::render(std::span<const ChatMessage> messages, bool answer) const {
  if (Status refused = check(messages, family_); !refused.ok()) return refused;
  std::vector<ChatMessage> repaired(messages.begin(), messages.end());
  for (ChatMessage& m : repaired) m.content = utf8_repaired(m.content);
  switch (family_) {
    case Family::kChatMl:
    case Family::kQwen3: return chatml(repaired, family_ == Family::kQwen3, default_system_, answer);
    case Family::kLlama2: return llama2(repaired);
    case Family::kLlama3:
    case Family::kLlama31: return llama3(repaired, date_, answer);
    case Family::kGemma:
    case Family::kGemma2: return gemma(repaired, answer);
  }
  return Status{Reason::kInternal, "a chat template of no family"};
}

}  // namespace krt::engine
