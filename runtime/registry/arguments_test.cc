#include "runtime/registry/arguments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/core/half.h"
#include "runtime/registry/module_builder.h"
#include "runtime/runtime.h"
#include "runtime/testing/tolerance.h"

namespace krt {
namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<std::int64_t>;
constexpr double kInf = std::numeric_limits<double>::infinity();

// Kernels that answer what they were given.
std::int64_t take_int(std::int64_t x) { return x; }
double take_float(double x) { return x; }
bool take_bool(bool x) { return x; }
std::string take_string(std::string_view x) { return std::string(x); }
Tensor take_tensor(Tensor x) { return x; }
Handle take_handle(Handle x) { return x; }
Value take_any(const Value& x) { return x; }
std::string take_optional(std::optional<std::int64_t> x) { return x ? std::to_string(*x) : "none"; }
std::int64_t take_optional_list(std::optional<std::span<const double>> x) { return x ? std::ssize(*x) : -1; }

template <class E>
double as_double(E x) {
  if constexpr (std::is_same_v<E, F16> || std::is_same_v<E, BF16>)
    return static_cast<double>(to_f32(x));
  else
    return static_cast<double>(x);
}
template <class E>
Doubles take_list(std::span<const E> x) {
  Doubles out;
  for (const E& v : x) out.push_back(as_double(v));
  return out;
}
template <class E>
std::string address(std::span<const E> x) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(x.data()));
}
template <class E>
void add_lists(ModuleBuilder& m, Text list, Text address_of) {
  m.function<take_list<E>>(list, "Answers x", {{"x", "numbers"}}).example("[[1]]");
  m.function<address<E>>(address_of, "Where x lies", {{"x", "numbers"}}).example("[[1]]");
}

Registry registry() {
  Registry r;
  ModuleBuilder m(r, "t", "Kernels that answer what they were given");
  m.function<take_int>("int", "Answers x", {{"x", "a value"}}).example("[1]");
  m.function<take_float>("float", "Answers x", {{"x", "a value"}}).example("[1]");
  m.function<take_bool>("bool", "Answers x", {{"x", "a value"}}).example("[true]");
  m.function<take_string>("string", "Answers x", {{"x", "a value"}}).example("[\"\"]");
  m.function<take_tensor>("tensor", "Answers x", {{"x", "a value"}}).example("[[1]]");
  m.function<take_handle>("handle", "Answers x", {{"x", "a value"}}).example("[{\"$handle\":\"h-1-1\"}]");
  m.function<take_any>("any", "Answers x", {{"x", "a value"}}).example("[1]");
  m.function<take_optional>("optional", "Answers x", {{"x", "a value"}}).example("[1]");
  m.function<take_optional_list>("optional_list", "Answers the length of x", {{"x", "a value"}}).example("[[1]]");
  add_lists<double>(m, "f64", "f64_at");
  add_lists<float>(m, "f32", "f32_at");
  add_lists<F16>(m, "f16", "f16_at");
  add_lists<BF16>(m, "bf16", "bf16_at");
  add_lists<std::int8_t>(m, "i8", "i8_at");
  add_lists<std::uint8_t>(m, "u8", "u8_at");
  add_lists<std::int16_t>(m, "i16", "i16_at");
  add_lists<std::int32_t>(m, "i32", "i32_at");
  add_lists<std::int64_t>(m, "i64", "i64_at");
  return r;
}

class Arguments : public ::testing::Test {
 protected:
  ExecuteResult call(std::string_view function, Value x) {
    return runtime_.execute("t", function, Dict{{"x", std::move(x)}});
  }
  void expect_value(std::string_view function, const Value& x, const Value& want) {
    const ExecuteResult r = call(function, x);
    ASSERT_TRUE(r.success()) << r.error.message();
    EXPECT_TRUE(identical(r.result, want)) << function << " of " << type_text(x);
  }
  void expect_refused(std::string_view function, const Value& x, const std::string& text) {
    const ExecuteResult r = call(function, x);
    EXPECT_EQ(r.error.reason(), Reason::kInvalidArguments) << function << " of " << type_text(x);
    EXPECT_EQ(r.error.message(), "t." + std::string(function) + ": argument 'x' " + text);
    EXPECT_TRUE(r.result.is_null());
    EXPECT_EQ(r.engine_used, "none");
  }
  Runtime runtime_{registry(), {.threads = 1}};
};

TEST_F(Arguments, ScalarsAreStrict) {
  expect_value("int", 7, 7);
  expect_value("int", INT64_MIN, INT64_MIN);
  expect_value("float", 7.5, 7.5);
  expect_value("float", 7, 7.0);
  expect_value("float", "Infinity", kInf);
  expect_value("float", "-Infinity", -kInf);
  expect_value("bool", true, true);
  expect_value("string", "text", "text");
  expect_value("string", "", "");
  EXPECT_TRUE(std::isnan(*call("float", "NaN").result.get_if<double>()));

  const Value text = "text", list = List{1}, tensor = Doubles{1}, dict = Dict{{"a", 1}}, handle = Handle{1, 1};
  const struct {
    std::string_view function;
    Value x;
    std::string_view got;
  } rows[] = {
      {"int", 3.0, "float"},        {"int", true, "bool"},       {"int", text, "string"},
      {"int", nullptr, "null"},     {"int", list, "list"},       {"int", dict, "dict"},
      {"int", tensor, "f64[1]"},    {"int", handle, "handle"},   {"float", true, "bool"},
      {"float", text, "string"},    {"float", nullptr, "null"},  {"float", tensor, "f64[1]"},
      {"float", "nan", "string"},   {"float", " NaN", "string"}, {"float", "inf", "string"},
      {"bool", 0, "int"},           {"bool", 1, "int"},          {"bool", "true", "string"},
      {"bool", 1.0, "float"},       {"string", 1, "int"},        {"string", nullptr, "null"},
      {"string", list, "list"},     {"handle", 1, "int"},        {"handle", "h-1-1", "string"},
      {"handle", tensor, "f64[1]"}, {"tensor", 1, "int"},        {"tensor", text, "string"},
      {"tensor", dict, "dict"},
  };
  for (const auto& row : rows)
    expect_refused(row.function, row.x, "must be " + std::string(row.function) + ", got " + std::string(row.got));
}

TEST_F(Arguments, TensorsHandlesAndAnything) {
  const Value shaped = Tensor::own(std::vector<float>(6)).reshaped({2, 3});
  expect_value("tensor", shaped, shaped);
  expect_value("tensor", List{1, 2.5, "NaN"}, Doubles{1, 2.5, std::nan("")});
  expect_value("tensor", List{}, Doubles{});
  expect_refused("tensor", List{1, "x"}, "must be f64[n], but element 1 is string");
  expect_value("handle", Handle{1, 2}, Handle{1, 2});
  for (const Value& v : {Value(), Value(1), Value("x"), Value(List{1}), Value(Dict{{"a", {}}}), Value(Handle{1, 2})})
    expect_value("any", v, v);
}

TEST_F(Arguments, OptionalIsNullOrAbsent) {
  expect_value("optional", 7, "7");
  expect_value("optional", nullptr, "none");
  EXPECT_TRUE(identical(runtime_.execute("t", "optional").result, "none"));
  EXPECT_TRUE(identical(runtime_.execute("t", "optional", List{}).result, "none"));
  expect_refused("optional", 1.0, "must be int?, got float");
  expect_value("optional_list", Doubles{1, 2}, 2);
  expect_value("optional_list", nullptr, -1);
  EXPECT_TRUE(identical(runtime_.execute("t", "optional_list").result, -1));
}

TEST_F(Arguments, AListMayBeATensorOfAnyRankOrAList) {
  const Doubles want{1, 2, 3, 4};
  expect_value("f64", want, want);
  expect_value("f64", Tensor::own(Doubles(want)).reshaped({2, 2}), want);
  expect_value("f64", List{1, 2.0, 3, 4.0}, want);
  expect_value("f64", List{"NaN", "Infinity"}, Doubles{std::nan(""), kInf});
  expect_value("f64", List{}, Doubles{});
  expect_value("f64", Tensor(), Doubles{});
  expect_refused("f64", List{1, nullptr}, "must be f64[n], but element 1 is null");
  expect_refused("f64", List{1, true}, "must be f64[n], but element 1 is bool");
  expect_refused("f64", List{1, "inf"}, "must be f64[n], but element 1 is string");
  expect_refused("f64", List{1, List{2}}, "must be f64[n], but element 1 is list");
  expect_refused("f64", List{Doubles{1}, 2}, "must be f64[n], but element 0 is f64[1]");
  expect_refused("f64", 5, "must be f64[n], got int");
  expect_refused("f64", "12", "must be f64[n], got string");
  expect_refused("f64", Dict{}, "must be f64[n], got dict");
  expect_refused("f64", nullptr, "must be f64[n], got null");
}

// A tensor of every dtype with the same small values.
template <class E>
Tensor small_values() {
  std::vector<E> v;
  for (const int x : {0, 1, 2, 100}) {
    if constexpr (std::is_same_v<E, F16>)
      v.push_back(to_f16(static_cast<float>(x)));
    else if constexpr (std::is_same_v<E, BF16>)
      v.push_back(to_bf16(static_cast<float>(x)));
    else
      v.push_back(static_cast<E>(x));
  }
  return Tensor::own(std::move(v));
}

TEST_F(Arguments, EveryDTypeToEveryOther) {
  const Tensor sources[] = {small_values<double>(),       small_values<float>(),        small_values<F16>(),
                            small_values<BF16>(),         small_values<std::int8_t>(),  small_values<std::uint8_t>(),
                            small_values<std::int16_t>(), small_values<std::int32_t>(), small_values<std::int64_t>()};
  // One column a source, in the order of DType: = lies there already, + is converted, . is refused.
  const struct {
    std::string_view target, from;
  } rows[] = {
      {"f64", "=++++++++"}, {"f32", "+=+++++++"}, {"f16", "+.=.+++++"}, {"bf16", "+..=+++++"}, {"i8", "....=++++"},
      {"u8", "....+=+++"},  {"i16", "....++=++"}, {"i32", "....+++=+"}, {"i64", "....++++="},
  };
  for (const auto& row : rows) {
    for (std::size_t s = 0; s < std::size(sources); ++s) {
      const Tensor& source = sources[s];
      SCOPED_TRACE(std::string(info_of(source.dtype()).name) + " to " + std::string(row.target));
      if (row.from[s] == '.') {
        expect_refused(row.target, source,
                       "must be " + std::string(row.target) + "[n], got " + type_text(Value(source)));
        continue;
      }
      expect_value(row.target, source, Doubles{0, 1, 2, 100});
      const Value where = call(std::string(row.target) + "_at", source).result;
      const auto here = std::to_string(reinterpret_cast<std::uintptr_t>(source.data()));
      EXPECT_EQ(*where.get_if<std::string>() == here, row.from[s] == '=');
    }
  }
}

TEST_F(Arguments, ConversionsRoundOnceToNearestEven) {
  const double sticky = 0x1p-40;
  const struct {
    std::string_view target;
    Value x;
    double want;
  } rows[] = {
      {"f32", Doubles{1 + 0x1p-24}, 1},
      {"f32", Doubles{1 + 0x1p-24 + sticky}, 1 + 0x1p-23},
      {"f32", Doubles{0x1p-150}, 0},
      {"f32", Doubles{0x1.8p-150}, 0x1p-149},
      {"f16", Doubles{1 + 0x1p-11}, 1},
      {"f16", Doubles{1 + 0x1p-11 + sticky}, 1 + 0x1p-10},  // an f32 on the way would lose the sticky bit
      {"f16", Doubles{-(1 + 0x1p-11 + sticky)}, -(1 + 0x1p-10)},
      {"f16", Doubles{1 + 0x1p-11 - sticky}, 1},
      {"f16", Doubles{65519.999999}, 65504},
      {"f16", Doubles{0x1p-25}, 0},
      {"f16", Doubles{0x1p-25 + 0x1p-70}, 0x1p-24},
      {"f16", Doubles{1e-300}, 0},
      {"bf16", Doubles{1 + 0x1p-8 + sticky}, 1 + 0x1p-7},
      {"bf16", Doubles{1 + 0x1p-8}, 1},
      {"f64", Ints{(std::int64_t{1} << 53U) + 1}, 0x1p53},
      {"f32", Ints{(1 << 24) + 1}, 0x1p24},
      {"f32", Ints{(std::int64_t{1} << 53U) + (1 << 29) + 1}, 0x1p53 + 0x1p30},  // a double would make it a tie
      {"bf16", Ints{(std::int64_t{1} << 62U) + (std::int64_t{1} << 54U) + 1}, 0x1p62 + 0x1p55},
      {"bf16", Ints{-(std::int64_t{1} << 62U) - (std::int64_t{1} << 54U) - 1}, -0x1p62 - 0x1p55},
      {"bf16", Ints{(std::int64_t{1} << 62U) + (std::int64_t{1} << 54U)}, 0x1p62},
      {"bf16", Ints{INT64_MIN}, -0x1p63},
      {"f16", List{1.5}, 1.5},
      {"bf16", List{3}, 3},
  };
  for (const auto& row : rows) expect_value(row.target, row.x, Doubles{row.want});
}

TEST_F(Arguments, WhatATypeCannotHoldIsRefused) {
  const struct {
    std::string target;
    Value x;
    std::string_view spelled;
  } rows[] = {
      {"f32", Doubles{0, 1e39}, "1e+39"},
      {"f32", Doubles{0, -1e300}, "-1e+300"},
      {"f16", Doubles{0, 65520}, "65520"},
      {"bf16", Doubles{0, 3.4e38}, "3.4e+38"},
      {"f16", Ints{0, 65520}, "65520"},
      {"i8", Ints{0, 128}, "128"},
      {"i8", Ints{0, -129}, "-129"},
      {"u8", Ints{0, -1}, "-1"},
      {"u8", Ints{0, 256}, "256"},
      {"i16", Ints{0, 32768}, "32768"},
      {"i32", Ints{0, std::int64_t{1} << 31U}, "2147483648"},
      {"i32", Ints{0, INT64_MIN}, "-9223372036854775808"},
  };
  for (const auto& row : rows)
    expect_refused(row.target, row.x,
                   "must be " + row.target + "[n], but element 1 is " + std::string(row.spelled) + ", which " +
                       row.target + " cannot hold");
  expect_refused("i64", List{1, 2.0}, "must be i64[n], but element 1 is float");
  expect_refused("u8", List{1, 300}, "must be u8[n], but element 1 is int");
  for (const std::string_view target : {"f64", "f32", "f16", "bf16"})
    expect_value(target, Doubles{kInf, -kInf}, Doubles{kInf, -kInf});
  EXPECT_TRUE(std::isnan(call("f16", Doubles{std::nan("")}).result.get_if<Tensor>()->as<double>()[0]));
}

TEST_F(Arguments, AHandleStandsForItsList) {
  const Handle doubles = *runtime_.put(Doubles{1, 2}), list = *runtime_.put(List{1, 2.5}), text = *runtime_.put("x");
  expect_value("f64", doubles, Doubles{1, 2});
  expect_value("f32", doubles, Doubles{1, 2});
  expect_value("f64", list, Doubles{1, 2.5});
  expect_value("tensor", doubles, Doubles{1, 2});
  EXPECT_TRUE(identical(runtime_.execute("t", "f64", List{doubles}).result, Doubles{1, 2}));
  EXPECT_FALSE(call("f64", text).success());
  ASSERT_TRUE(runtime_.free(doubles).ok());
  for (const std::string function : {"f64", "f16", "tensor"}) {
    const ExecuteResult r = call(function, doubles);
    EXPECT_EQ(r.error.reason(), Reason::kHandleNotFound);
    EXPECT_EQ(r.error.message(),
              "t." + function + ": argument 'x' names no value: handle " + handle_text(doubles) + " was freed");
  }
  const Handle of_a_handle = *runtime_.put(list);
  EXPECT_FALSE(call("f64", of_a_handle).success()) << "one step, or a handle that names itself would never end";
}

}  // namespace
}  // namespace krt
