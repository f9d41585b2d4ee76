#include <gtest/gtest.h>

#include "engine/tokenizer/unicode.h"
#include "modules/builtin.h"
#include "runtime/runtime.h"
#include "runtime/testing/value_check.h"

namespace krt::engine {
namespace {

class TokenizerFunctions : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!unicode_ready().ok()) GTEST_SKIP() << unicode_ready().message();
  }
  ExecuteResult call(const char* function, List args) {
    return runtime_.execute("engine", function, Value(std::move(args)));
  }
  Value open() { return call("open_tokenizer", {Value(KRT_FIXTURES "/tokenizer_bpe.gguf")}).result["handle"]; }
  Runtime runtime_{builtin_registry(), {.threads = 1}};
};

TEST_F(TokenizerFunctions, OpenTellsTheVocabulary) {
  testing::ValueCheck check("engine.open_tokenizer");
  const ExecuteResult r = call("open_tokenizer", {Value(KRT_FIXTURES "/tokenizer_bpe.gguf")});
  ASSERT_TRUE(r.success()) << r.error.message();
  EXPECT_TRUE(identical(r.result["tokens"], 1506));
  EXPECT_TRUE(identical(r.result["bos"], 1500));
  EXPECT_TRUE(identical(r.result["eos"], 1502));
  EXPECT_TRUE(identical(r.result["padding"], -1));
}

TEST_F(TokenizerFunctions, ThereAndBack) {
  testing::ValueCheck tokenize("engine.tokenize"), detokenize("engine.detokenize");
  const Value model = open();
  const std::string text = "a\xFF<|im_end|>";
  const ExecuteResult ids = call("tokenize", {model, Value(text), Value(true), Value(true)});
  ASSERT_TRUE(ids.success()) << ids.error.message();
  EXPECT_EQ(ids.result.get_if<Tensor>()->as<std::int64_t>().back(), 1502);
  const ExecuteResult plain = call("tokenize", {model, Value(text)});
  EXPECT_GT(plain.result.get_if<Tensor>()->elements(), ids.result.get_if<Tensor>()->elements());
  EXPECT_TRUE(identical(call("detokenize", {model, ids.result}).result, "a\xEF\xBF\xBD"));
  EXPECT_TRUE(identical(call("detokenize", {model, ids.result, Value(true)}).result, "a\xEF\xBF\xBD<|im_end|>"));
}

TEST_F(TokenizerFunctions, RefusalsNameTheArgument) {
  const Value model = open();
  EXPECT_EQ(call("detokenize", {model, Value(std::vector<std::int64_t>{1506})}).error.message(),
            "argument 'ids': token 1506 is outside the vocabulary of 1506 tokens");
  const Value other = runtime_.put(Value(1)).value();
  EXPECT_EQ(call("tokenize", {other, Value("a")}).error.message(),
            "argument 'model' must be a handle of engine.load or engine.open_tokenizer, names int");
  EXPECT_EQ(call("open_tokenizer", {Value("/nowhere.gguf")}).error.reason(), Reason::kInvalidArguments);
}

}  // namespace
}  // namespace krt::engine
