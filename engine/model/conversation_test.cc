// The Shakespeare model with chat templates that it was not trained for: what is asserted is which tokens are read, and
// that the answers are those of the whole conversation read at once.

#include "engine/model/conversation.h"

#include <gtest/gtest.h>

#include <fstream>

#include "engine/model/chat_model.h"
#include "engine/model/prompt.h"
#include "engine/tokenizer/unicode.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/temp_dir.h"
#include "runtime/testing/test_context.h"

namespace krt::engine {
namespace {

using krt::testing::TestContext;

constexpr const char* kChatMl = "<|im_start|><|im_end|>";
constexpr const char* kLlama2 = "[INST] <<SYS>>";

std::shared_ptr<const Model> model_with(Context& context, const char* chat_template) {
  const krt::testing::TempDir dir;
  const std::vector<std::uint8_t> out = chat_model(chat_template);
  std::ofstream(dir.file("m.gguf"), std::ios::binary).write(reinterpret_cast<const char*>(out.data()), std::ssize(out));
  return load_fast(context, Checkpoint::open(dir.file("m.gguf")).value()).value();
}

bool show_all(const Written&) { return true; }

class Conversations : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!unicode_ready().ok()) GTEST_SKIP() << unicode_ready().message();
  }

  Conversation start(const std::shared_ptr<const Model>& model, std::string system = "", std::int64_t capacity = 0) {
    return Conversation::start(model, {.capacity = capacity}, std::move(system)).value();
  }
  Result<Conversation::Turn> ask(Conversation& c, std::string message, std::int64_t tokens = 12,
                                 std::vector<std::string> stops = {}) {
    return c.ask(context_, std::move(message), {.max_tokens = tokens}, stops, show_all);
  }
  // What the model writes after all of these messages, read at once.
  std::string at_once(const Model& model, std::span<const ChatMessage> messages, std::int64_t tokens = 12) {
    const std::string text = model.tokenizer()->chat()->render(messages).value();
    const auto ids = encode_prompt(model, text, true).value();
    Generation g(model, model.start(context_, {}).value(), {.max_tokens = tokens, .end_tokens = end_tokens(model)});
    EXPECT_TRUE(g.prefill(context_, ids).ok());
    TextStream stream(model.tokenizer().get(), {});
    std::string out;
    EXPECT_TRUE(write_all(context_, g, stream, [&](const Written& w) {
                  out += w.piece;
                  return true;
                }).ok());
    return out;
  }

  TestContext context_{2};
};

TEST_F(Conversations, EveryTurnReadsOnlyWhatIsNew) {
  const auto model = model_with(context_, kChatMl);
  Conversation c = start(model, "You are HAMLET.");
  std::int64_t held = 0;
  for (const char* message : {"My lord, what news?", "And the queen?", "Good night."}) {
    const auto turn = ask(c, message).value();
    EXPECT_EQ(turn.written, 12);
    EXPECT_EQ(turn.finish, Finish::kBudget);
    const auto& all = c.messages();
    EXPECT_EQ(all.back().content, turn.answer);
    // Nothing is read twice: what is held and what was read is the whole conversation, but for the last token.
    const std::string closed = model->tokenizer()->chat()->render(std::span(all).first(all.size() - 1)).value();
    EXPECT_EQ(turn.read, std::ssize(model->tokenizer()->encode(closed, {.parse_special = true}).value()) - held);
    held += turn.read + turn.written - 1;
    EXPECT_EQ(turn.answer, at_once(*model, std::span(all).first(all.size() - 1)));
  }
  // A control: what was said before is part of the prompt.
  EXPECT_NE(c.messages().back().content, at_once(*model, std::span(c.messages()).subspan(5, 1)));
  EXPECT_EQ(c.messages().size(), 7U);
  EXPECT_EQ(c.messages()[0].role, "system");
}

TEST_F(Conversations, AnAnswerThatTheTemplateChangesIsReadAgain) {
  const auto model = model_with(context_, kLlama2);  // trims answers and writes a space before them
  Conversation c = start(model);
  const auto first = ask(c, "My lord, what news?").value();
  const auto second = ask(c, "And the queen?").value();
  EXPECT_GT(second.read, first.read + 12);
  EXPECT_EQ(second.answer, at_once(*model, std::span(c.messages()).first(3)));
}

TEST_F(Conversations, AStopStringEndsAnAnswerAndIsNoPartOfTheNextPrompt) {
  const auto model = model_with(context_, kChatMl);
  Conversation c = start(model);
  const std::string whole = at_once(*model, std::vector<ChatMessage>{{"user", "My lord, what news?"}});
  const std::string stop = whole.substr(whole.size() / 2, 3);
  const auto turn = ask(c, "My lord, what news?", 12, {stop}).value();
  EXPECT_EQ(turn.finish, Finish::kStopString);
  EXPECT_EQ(turn.answer, whole.substr(0, whole.find(stop)));
  const auto next = ask(c, "And the queen?").value();
  EXPECT_EQ(next.answer, at_once(*model, std::span(c.messages()).first(3)));
}

TEST_F(Conversations, AnInterruptEndsAnAnswerAndTheChatGoesOn) {
  const auto model = model_with(context_, kChatMl);
  Conversation c = start(model);
  std::atomic<bool> cancelled = false;
  context_.context.control.cancelled = &cancelled;
  const auto turn = c.ask(context_, "My lord, what news?", {.max_tokens = 12}, {}, [&](const Written&) {
                       cancelled = true;  // found by the next token's checkpoint
                       return true;
                     }).value();
  EXPECT_EQ(turn.finish, Finish::kCancelled);
  EXPECT_EQ(turn.written, 1);
  cancelled = false;
  int shown = 0;
  const auto listener =
      c.ask(context_, "And the queen?", {.max_tokens = 12}, {}, [&](const Written&) { return ++shown < 3; }).value();
  EXPECT_EQ(listener.finish, Finish::kCancelled);
  EXPECT_EQ(listener.written, 3);
  const auto next = ask(c, "Good night.").value();
  EXPECT_EQ(next.answer, at_once(*model, std::span(c.messages()).first(5)));
}

TEST_F(Conversations, AFullConversationIsRefusedAndStays) {
  const auto model = model_with(context_, kChatMl);
  Conversation c = start(model, "", 60);
  const auto first = ask(c, "My lord?", 1000).value();
  EXPECT_EQ(first.finish, Finish::kBudget);
  EXPECT_EQ(first.read + first.written, 60);
  const auto messages = c.messages().size();
  EXPECT_TRUE(ask(c, "And the queen?").status().message().ends_with("tokens, and room is for 60"));
  EXPECT_EQ(c.messages().size(), messages);
  c.clear();
  EXPECT_TRUE(c.messages().empty());
  EXPECT_EQ(ask(c, "My lord?", 1000).value().answer, first.answer);
}

TEST_F(Conversations, RefusedAtTheStart) {
  EXPECT_EQ(Conversation::start(model_with(context_, nullptr), {}, "").status().message(),
            "the model file has no chat template");
  EXPECT_TRUE(Conversation::start(model_with(context_, "{{ x }}"), {}, "")
                  .status()
                  .message()
                  .starts_with("key 'tokenizer.chat_template': krt does not know"));
  EXPECT_FALSE(Conversation::start(model_with(context_, kChatMl), {.capacity = -1}, "").ok());
}

}  // namespace
}  // namespace krt::engine
