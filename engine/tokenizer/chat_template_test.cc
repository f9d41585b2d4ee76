// Against jinja2 with the models' own templates (tests/oracle/chat_fixtures.py).

#include "engine/tokenizer/chat_template.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "engine/tokenizer/unicode.h"
#include "runtime/testing/fixture.h"

namespace krt::engine {
namespace {

// The marks of templates whose text is not in the tree.
const std::map<std::string, std::string> kMarks{
    {"llama-3.1", "<|start_header_id|> <|eot_id|> Cutting Knowledge Date {%- set date_string = \"26 Jul 2024\" %}"},
    {"llama-3.2", "<|start_header_id|> <|eot_id|> Cutting Knowledge Date {%- set date_string = \"26 Jul 2024\" %}"},
    {"gemma-2", "<start_of_turn> <end_of_turn> {{ raise_exception('System role not supported') }}"},
    {"gemma-3", "<start_of_turn> <end_of_turn>"},
};

std::vector<ChatMessage> messages_of(const testing::FixtureCase& c) {
  std::vector<ChatMessage> out;
  std::istringstream roles(c.text("roles"));
  for (std::string role; std::getline(roles, role, ',');)
    out.push_back({role, c.text("content" + std::to_string(out.size()))});
  return out;
}

class ChatTemplates : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!unicode_ready().ok()) GTEST_SKIP() << unicode_ready().message();
  }
};

TEST_F(ChatTemplates, ConversationsAreJinjas) {
  std::map<std::string, ChatTemplate> known;
  int rendered = 0, refused = 0;
  for (const testing::FixtureCase& c : testing::fixture("chat")) {
    SCOPED_TRACE(c.name());
    const std::string model = c.text("model");
    if (!known.contains(model)) {
      const auto t = ChatTemplate::recognised(c.has("template") ? c.text("template") : kMarks.at(model));
      ASSERT_TRUE(t.ok()) << t.status().message();
      known.emplace(model, *t);
    }
    for (const bool answer : {true, false}) {
      const char* field = answer ? "prompt" : "closed";
      const Result<std::string> text = known.at(model).render(messages_of(c), answer);
      ASSERT_EQ(text.ok(), c.has(field)) << (text.ok() ? *text : text.status().message());
      if (text.ok()) {
        EXPECT_EQ(*text, c.text(field));
      }
      ++(text.ok() ? rendered : refused);
    }
  }
  EXPECT_EQ(known.size(), 9U);
  EXPECT_GT(rendered, 150);
  EXPECT_GT(refused, 10);
}

// A control: no two of the families write the same for every conversation.
TEST_F(ChatTemplates, FamiliesDiffer) {
  std::set<std::string> texts;
  int families = 0;
  for (const testing::FixtureCase& c : testing::fixture("chat")) {
    if (!c.name().ends_with(" 4") || !c.has("prompt") || c.text("model") == "llama-3.2" || c.text("model") == "gemma-3")
      continue;
    texts.insert(c.text("prompt"));
    ++families;
  }
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(families));
  EXPECT_EQ(families, 7);
}

TEST_F(ChatTemplates, OthersAreRefusedWithTheList) {
  EXPECT_EQ(ChatTemplate::recognised("{{ messages }}").status().message(),
            "key 'tokenizer.chat_template': krt does not know this chat template; it knows those of ChatML (SmolLM2, "
            "Qwen), Qwen3, Llama 2, Llama 3, Llama 3.1, Gemma 2 and Gemma 3");
}

TEST_F(ChatTemplates, RefusalsNameTheMessage) {
  const auto refusal = [](const char* marks, std::vector<ChatMessage> messages) {
    return ChatTemplate::recognised(marks)->render(messages).status().message();
  };
  const char* chatml = "<|im_start|><|im_end|>";
  EXPECT_EQ(refusal(chatml, {}), "a conversation needs a message");
  EXPECT_EQ(refusal(chatml, {{"user", "a"}, {"tool\x1b", "b"}}),
            "message 1 has role 'tool\\x1b', must be system, user or assistant");
  EXPECT_EQ(refusal("[INST] <<SYS>>", {{"system", "a"}}), "a conversation needs a message of the user");
  EXPECT_EQ(refusal("[INST] <<SYS>>", {{"user", "a"}, {"user", "b"}}),
            "message 1: user and assistant must alternate, the user first");
  EXPECT_EQ(refusal(kMarks.at("gemma-2").c_str(), {{"system", "a"}}),
            "message 0: this model's chat template has no system message");
}

TEST_F(ChatTemplates, IllFormedContentIsRepaired) {
  EXPECT_EQ(
      ChatTemplate::recognised("<|im_start|><|im_end|>")->render(std::vector<ChatMessage>{{"user", "\xFF"}}).value(),
      "<|im_start|>user\n\xEF\xBF\xBD<|im_end|>\n<|im_start|>assistant\n");
}

}  // namespace
}  // namespace krt::engine
