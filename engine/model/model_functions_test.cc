#include "engine/model/model_functions.h"

#include <gtest/gtest.h>

#include "engine/model/tiny_model.h"
#include "modules/builtin.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::engine {
namespace {

using krt::testing::all_within;
using krt::testing::fixture;
using krt::testing::FixtureCase;
using krt::testing::ValueCheck;
using testing::TinyModel;

class ModelFunctions : public ::testing::Test {
 protected:
  ExecuteResult call(const char* function, List args) {
    return runtime_.execute("engine", function, Value(std::move(args)));
  }
  Handle load(bool reference) {
    const ExecuteResult r = call("load", {Value(file_.path()), Value(reference)});
    EXPECT_TRUE(r.success()) << r.error.message();
    return *r.result["model"].get_if<Handle>();
  }

  const FixtureCase case_ = fixture("model").front();  // llama
  TinyModel file_{case_.text("file")};
  Runtime runtime_{builtin_registry(), {.threads = 2}};
};

TEST_F(ModelFunctions, LoadTellsWhatTheModelIs) {
  ValueCheck check("engine.load");
  const ExecuteResult r = call("load", {Value(file_.path())});
  ASSERT_TRUE(r.success()) << r.error.message();
  EXPECT_EQ(*r.result["architecture"].get_if<std::string>(), "llama");
  EXPECT_EQ(*r.result["vocab"].get_if<std::int64_t>(), 48);
  EXPECT_EQ(*r.result["context"].get_if<std::int64_t>(), 64);
  EXPECT_EQ(*r.result["layers"].get_if<std::int64_t>(), 2);
  EXPECT_EQ(*r.result["width"].get_if<std::int64_t>(), 24);
}

TEST_F(ModelFunctions, LogitsAreThoseOfTransformers) {
  ValueCheck check("engine.logits");
  const std::vector<double> want = case_.f64s("logits");
  for (const bool reference : {true, false}) {
    const ExecuteResult r =
        call("logits", {Value(load(reference)), Value(case_.i64s("ids")), Value(12), Value(5), Value("f32")});
    ASSERT_TRUE(r.success()) << r.error.message();
    const auto* logits = r.result.get_if<Tensor>();
    ASSERT_NE(logits, nullptr);
    EXPECT_EQ(logits->shape(), (Shape{12, 48}));
    const auto within = [&](double bound) { return [bound](std::size_t, double) { return bound; }; };
    if (reference)
      EXPECT_TRUE(all_within(logits->as<double>(), std::span<const double>(want), within(1e-12)));
    else
      EXPECT_TRUE(all_within(logits->as<float>(), std::span<const double>(want), within(3e-5)));
  }
}

TEST_F(ModelFunctions, TheLastLogitsDoNotDependOnHowManyAreAskedFor) {
  const Handle model = load(false);
  const ExecuteResult all = call("logits", {Value(model), Value(case_.i64s("ids")), Value(12)});
  const ExecuteResult one = call("logits", {Value(model), Value(case_.i64s("ids"))});
  const auto rows = all.result.get_if<Tensor>()->as<float>();
  EXPECT_TRUE(krt::testing::same_bits(one.result.get_if<Tensor>()->as<float>(), rows.last(48)));
}

TEST_F(ModelFunctions, UnloadFreesTheHandle) {
  ValueCheck check("engine.unload");
  const Handle model = load(false);
  EXPECT_TRUE(call("unload", {Value(model)}).success());
  EXPECT_EQ(call("logits", {Value(model), Value(case_.i64s("ids"))}).error.reason(), Reason::kHandleNotFound);
  EXPECT_EQ(call("unload", {Value(model)}).error.reason(), Reason::kHandleNotFound);
}

TEST_F(ModelFunctions, RefusalsNameTheArgument) {
  const Handle model = load(false);
  const auto ids = [](std::vector<std::int64_t> list) { return Value(std::move(list)); };
  EXPECT_EQ(call("logits", {Value(model), ids({1, 2}), Value(3)}).error.message(),
            "argument 'last' must be 1 to the 2 ids, is 3");
  EXPECT_EQ(call("logits", {Value(model), ids({1, 48})}).error.message(),
            "token id 48 is outside the vocabulary, 0 to 47");
  EXPECT_EQ(call("logits", {Value(model), ids({1}), Value(1), Value(0)}).error.message(),
            "a chunk of 0 tokens: it must be 1 to 4096");
  EXPECT_EQ(call("logits", {Value(model), ids({1}), Value(1), Value(512), Value("f8")}).error.message(),
            "argument 'cache' must be f32, f16, bf16 or q8_0, is 'f8'");
  const Handle other = runtime_.put(Value(1)).value();
  EXPECT_EQ(call("unload", {Value(other)}).error.message(),
            "argument 'model' must be a handle of engine.load, names int");
  EXPECT_FALSE(call("load", {Value("/nowhere.gguf")}).success());
}

}  // namespace
}  // namespace krt::engine
