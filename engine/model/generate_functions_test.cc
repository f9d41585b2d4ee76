#include "engine/model/generate_functions.h"

#include <gtest/gtest.h>

#include "engine/model/tiny_model.h"
#include "engine/tokenizer/unicode.h"
#include "modules/builtin.h"
#include "runtime/testing/value_check.h"

namespace krt::engine {
namespace {

using krt::testing::ValueCheck;
using testing::Edits;
using testing::TinyModel;

// A letter for each token but two: "ab" and the end of the text.
std::vector<std::string> letters() {
  std::vector<std::string> out;
  for (char c = 'a'; c <= 'z'; ++c) out.emplace_back(1, c);
  for (char c = 'A'; c <= 'T'; ++c) out.emplace_back(1, c);
  out.emplace_back("ab");
  out.emplace_back("<end>");
  return out;
}

Edits with_letters() {
  std::vector<std::int32_t> types(48, 1);
  types.back() = 3;
  Edits edits;
  const auto key = [&](const std::string& name, auto value) {
    edits.keys["tokenizer.ggml." + name] = [=](GgufWriter& out) { out.add("tokenizer.ggml." + name, value); };
  };
  key("model", std::string_view("gpt2"));
  key("pre", std::string_view("gpt-2"));
  key("tokens", letters());
  key("merges", std::vector<std::string>{"a b"});
  key("token_type", types);
  key("eos_token_id", 47U);
  return edits;
}

class GenerateFunction : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!unicode_ready().ok()) GTEST_SKIP() << unicode_ready().message();
    model_ = load(file_.path());
  }
  ExecuteResult generate(Dict args, const EventSink& sink = {}) {
    if (Value(args).find("model") == nullptr) args.insert(args.begin(), {"model", model_});
    CallOptions options;
    options.on_event = sink;
    return runtime_.execute("engine", "generate", Value(std::move(args)), options);
  }
  Handle load(const std::string& path) {
    const ExecuteResult r = runtime_.execute("engine", "load", List{Value(path)});
    EXPECT_TRUE(r.success()) << r.error.message();
    return *r.result["model"].get_if<Handle>();
  }
  static std::vector<std::int64_t> ids_of(const Value& result) {
    const auto ids = result["ids"].get_if<Tensor>()->as<std::int64_t>();
    return {ids.begin(), ids.end()};
  }
  static std::string text_of(const Value& result) { return *result["text"].get_if<std::string>(); }

  TinyModel file_{"model/llama_gqa.gguf", with_letters()};
  Runtime runtime_{builtin_registry(), {.threads = 2}};
  Handle model_ = {};
};

// The text is that of the ids, and the ids are the largest logits of all that stands before them.
TEST_F(GenerateFunction, WritesTheLargestLogitsAsText) {
  ValueCheck check("engine.generate");
  const ExecuteResult r = generate({{"prompt", "abc"}, {"max_tokens", 12}, {"ignore_eos", true}});
  ASSERT_TRUE(r.success()) << r.error.message();
  std::vector<std::int64_t> before{46, 2};  // "ab", "c"
  std::string text;
  for (const std::int64_t id : ids_of(r.result)) {
    const ExecuteResult logits = runtime_.execute("engine", "logits", List{Value(model_), Value(before)});
    const auto row = logits.result.get_if<Tensor>()->as<float>();
    EXPECT_EQ(id, std::max_element(row.begin(), row.end()) - row.begin());
    before.push_back(id);
    if (id != 47) text += letters()[static_cast<std::size_t>(id)];
  }
  EXPECT_EQ(before.size(), 14U);
  EXPECT_EQ(text_of(r.result), text);
  EXPECT_EQ(*r.result["finish"].get_if<std::string>(), "length");
  EXPECT_EQ(*r.result["prompt_tokens"].get_if<std::int64_t>(), 2);
}

TEST_F(GenerateFunction, EventsAreTheResultInPieces) {
  std::string text;
  std::vector<std::int64_t> ids;
  const ExecuteResult r =
      generate({{"prompt_ids", std::vector<std::int64_t>{46, 2}}, {"max_tokens", 12}}, [&](const Value& event) {
        if (const Value* id = event.find("id")) ids.push_back(*id->get_if<std::int64_t>());
        text += *event["text"].get_if<std::string>();
      });
  ASSERT_TRUE(r.success()) << r.error.message();
  EXPECT_EQ(ids, ids_of(r.result));
  EXPECT_EQ(text, text_of(r.result));
  EXPECT_FALSE(ids.empty());
}

TEST_F(GenerateFunction, WhatAListenerThrowsEndsTheText) {
  int events = 0;
  const auto sink = [&](const Value&) {
    if (++events == 3) throw StatusError({Reason::kCancelled, "enough"});
  };
  const ExecuteResult r =
      generate({{"prompt_ids", std::vector<std::int64_t>{1, 2}}, {"max_tokens", 9}, {"ignore_eos", true}}, sink);
  EXPECT_EQ(r.error.reason(), Reason::kCancelled);
  EXPECT_EQ(r.error.message(), "engine.generate: enough");
  EXPECT_EQ(events, 3);
}

TEST_F(GenerateFunction, AStopStringEndsTheText) {
  const std::string whole = text_of(generate({{"prompt", "abc"}, {"max_tokens", 12}}).result);
  ASSERT_GT(whole.size(), 4U);
  const std::string stop = whole.substr(3, 2);
  const ExecuteResult r = generate({{"prompt", "abc"}, {"max_tokens", 12}, {"stop", List{Value("~~"), Value(stop)}}});
  EXPECT_EQ(text_of(r.result), whole.substr(0, whole.find(stop)));
  EXPECT_EQ(*r.result["finish"].get_if<std::string>(), "stop");
}

TEST_F(GenerateFunction, RefusalsNameTheArgument) {
  const auto refusal = [&](Dict args) { return generate(std::move(args)).error.message(); };
  EXPECT_EQ(refusal({}), "one of the arguments 'prompt' and 'prompt_ids' is wanted");
  EXPECT_EQ(refusal({{"prompt", "a"}, {"max_tokens", -1}}), "argument 'max_tokens' must be 0 to 16777216, is -1");
  EXPECT_EQ(refusal({{"prompt", "a"}, {"stop", 7}}), "argument 'stop' must be a string or a list of strings, got int");
  EXPECT_EQ(refusal({{"prompt", "a"}, {"temperature", -1.0}}), "sampling: decode_parameter_out_of_range");
  EXPECT_EQ(refusal({{"prompt", ""}}), "there are no tokens to read");
  const TinyModel bare("model/llama_gqa.gguf");
  EXPECT_EQ(refusal({{"model", load(bare.path())}, {"prompt", "a"}}),
            "the model file has no tokenizer: the prompt must be token ids");
}

}  // namespace
}  // namespace krt::engine
