#include "runtime/registry/call.h"

#include <gtest/gtest.h>

#include "runtime/registry/module_builder.h"
#include "runtime/runtime.h"

namespace krt {
namespace {

using Doubles = std::vector<double>;

std::string none() { return "none"; }
std::string three(std::int64_t a, std::string_view b, double c) {
  return std::to_string(a) + " " + std::string(b) + " " + std::to_string(static_cast<int>(c));
}
std::int64_t required(std::int64_t a) { return a; }
std::int64_t length(std::span<const double> x) { return std::ssize(x); }
std::int64_t optional_length(std::optional<std::span<const double>> x) { return x ? std::ssize(*x) : -1; }

Registry registry() {
  Registry r;
  ModuleBuilder m(r, "t", "Kernels of the call tests");
  m.function<none>("none", "Takes nothing").example("[]");
  m.function<three>("three", "Spells its arguments",
                    {{"a", "a number"}, {"b", "a text", "two"}, {"c", "a number", 3.0}})
      .example("[1]");
  m.function<required>("required", "Answers a", {{"a", "a number"}}).example("[1]");
  m.function<length>("length", "Counts x", {{"x", "numbers"}}).example("[[1]]");
  m.function<optional_length>("optional_length", "Counts x", {{"x", "numbers"}}).example("[[1]]");
  return r;
}

class Call : public ::testing::Test {
 protected:
  Runtime runtime_{registry(), {.threads = 1}};
};

TEST_F(Call, PositionalByNameOneOrNone) {
  const struct {
    std::string_view function;
    Value args, want;
  } rows[] = {
      {"none", {}, "none"},
      {"none", List{}, "none"},
      {"none", Dict{}, "none"},
      {"three", List{1}, "1 two 3"},
      {"three", 1, "1 two 3"},
      {"three", List{1, "b"}, "1 b 3"},
      {"three", List{1, "b", 9}, "1 b 9"},
      {"three", Dict{{"a", 1}}, "1 two 3"},
      {"three", Dict{{"c", 9}, {"a", 1}}, "1 two 9"},
      {"three", Dict{{"c", 9}, {"b", "b"}, {"a", 1}}, "1 b 9"},
      {"required", 7, 7},
  };
  for (const auto& row : rows) {
    const ExecuteResult r = runtime_.execute("t", row.function, row.args);
    EXPECT_TRUE(r.success()) << r.error.message();
    EXPECT_TRUE(identical(r.result, row.want)) << row.function << " of " << type_text(row.args);
  }
}

TEST_F(Call, AListGivenToAFunctionOfOneList) {
  const struct {
    Value args;
    std::int64_t want;
  } rows[] = {
      {Doubles{1, 2, 3}, 3},            // one argument that is no list of arguments
      {List{Doubles{1, 2, 3}}, 3},      // positional
      {List{Value(List{1, 2, 3})}, 3},  // positional
      {List{1, 2, 3}, 3},               // cannot be positional: three values for one parameter
      {List{1}, 1},                     // cannot be positional: 1 is no list
      {List{"NaN"}, 1},                 //
      {List{}, 0},                      // an empty list of numbers
      {Dict{{"x", List{1, 2}}}, 2},     //
      {List{Value(List{})}, 0},         //
  };
  for (const auto& row : rows) {
    const ExecuteResult r = runtime_.execute("t", "length", row.args);
    EXPECT_TRUE(r.success()) << r.error.message();
    EXPECT_TRUE(identical(r.result, row.want)) << type_text(row.args);
  }
  const Handle handle = *runtime_.put(Doubles{1, 2});
  EXPECT_TRUE(identical(runtime_.execute("t", "length", List{handle}).result, 2));
  EXPECT_TRUE(identical(runtime_.execute("t", "length", handle).result, 2));
  EXPECT_EQ(runtime_.execute("t", "length").error.message(), "t.length takes 1 argument (x), got 0");
  EXPECT_EQ(runtime_.execute("t", "length", List{1, List{2}}).error.message(),
            "t.length: argument 'x' must be f64[n], but element 1 is list");
}

TEST_F(Call, AnOptionalListMayBeLeftOut) {
  EXPECT_TRUE(identical(runtime_.execute("t", "optional_length").result, -1));
  EXPECT_TRUE(identical(runtime_.execute("t", "optional_length", List{nullptr}).result, -1));
  EXPECT_TRUE(identical(runtime_.execute("t", "optional_length", List{1, 2}).result, 2));
}

TEST_F(Call, RefusalsSayWhatIsWrong) {
  const struct {
    std::string_view function;
    Value args;
    std::string_view message;
  } rows[] = {
      {"none", List{1}, "t.none takes 0 arguments (), got 1"},
      {"none", 1, "t.none takes 0 arguments (), got 1"},
      {"none", Dict{{"a", 1}}, "t.none: no argument is named 'a'; it takes ()"},
      {"three", List{1, "b", 3, 4}, "t.three takes 3 arguments (a, b, c), got 4"},
      {"three", {}, "t.three takes 3 arguments (a, b, c), got 0"},
      {"three", List{}, "t.three takes 3 arguments (a, b, c), got 0"},
      {"three", Dict{{"b", "b"}}, "t.three: argument 'a' is missing; it takes (a, b, c)"},
      {"three", Dict{{"a", 1}, {"d", 1}}, "t.three: no argument is named 'd'; it takes (a, b, c)"},
      {"three", Dict{{"a", 1}, {"A", 1}}, "t.three: no argument is named 'A'; it takes (a, b, c)"},
      {"three", Dict{{"a", 1}, {"", 1}}, "t.three: no argument is named ''; it takes (a, b, c)"},
      {"three", Dict{{"a", 1}, {"\n\xFF", 1}}, "t.three: no argument is named '\\x0a\\xff'; it takes (a, b, c)"},
      {"three", Dict{{"a", 1}, {"a", 2}}, "t.three: argument 'a' is given twice"},
      {"three", List{1, 2}, "t.three: argument 'b' must be string, got int"},
      {"three", List{1, nullptr}, "t.three: argument 'b' must be string, got null"},
      {"required", List{Doubles{1}}, "t.required: argument 'a' must be int, got f64[1]"},
  };
  for (const auto& row : rows) {
    const ExecuteResult r = runtime_.execute("t", row.function, row.args);
    EXPECT_EQ(r.error.message(), row.message);
    EXPECT_EQ(r.error.reason(), Reason::kInvalidArguments) << row.message;
    EXPECT_TRUE(r.result.is_null());
  }
}

TEST_F(Call, TheSameChecksWithoutTheEnvelope) {
  const List one{1}, wrong{1, 2}, many(7);
  EXPECT_TRUE(identical(*runtime_.call("t", "three", one), "1 two 3"));
  EXPECT_EQ(runtime_.call("t", "three", wrong).status().message(), "t.three: argument 'b' must be string, got int");
  EXPECT_EQ(runtime_.call("t", "three", many).status().message(), "t.three takes 3 arguments (a, b, c), got 7");
  EXPECT_EQ(runtime_.call("t", "three", {}).status().message(), "t.three takes 3 arguments (a, b, c), got 0");
  EXPECT_EQ(runtime_.call("t", "nope", one).status().reason(), Reason::kFunctionNotRegistered);
  EXPECT_EQ(runtime_.call("nope", "three", one).status().reason(), Reason::kModuleNotRegistered);
}

}  // namespace
}  // namespace krt
