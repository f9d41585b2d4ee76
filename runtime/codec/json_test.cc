#include "runtime/codec/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/core/half.h"
#include "runtime/testing/random.h"
#include "runtime/testing/tolerance.h"

namespace krt {
namespace {

using testing::Rng;
using testing::same_bits;

constexpr double kInf = std::numeric_limits<double>::infinity();

Value parsed(std::string_view text) {
  Result<Value> v = parse_json(text);
  EXPECT_TRUE(v.ok()) << text << ": " << v.status().message();
  return v.ok() ? *v : Value();
}

::testing::AssertionResult reads_as(std::string_view text, const Value& want) {
  const Result<Value> got = parse_json(text);
  if (!got.ok()) return ::testing::AssertionFailure() << got.status().message();
  if (identical(*got, want)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "got " << type_text(*got) << " " << to_json(*got) << ", want "
                                       << type_text(want) << " " << to_json(want);
}

TEST(JsonParse, EveryKind) {
  using Ints = std::vector<std::int64_t>;
  using Doubles = std::vector<double>;
  const Handle handle{0xabc, 0x12};
  const struct {
    std::string_view text;
    Value want;
  } rows[] = {
      {"null", {}},
      {" true\n", true},
      {"false", false},
      {"0", 0},
      {"-0", 0},
      {"-17", -17},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"-0.0", -0.0},
      {"3.0", 3.0},
      {"2e0", 2.0},
      {"1E+2", 100.0},
      {"4.9e-324", 4.9e-324},
      {"1e-999", 0.0},
      {"1.7976931348623157e308", 1.7976931348623157e308},
      {"NaN", std::nan("")},
      {"Infinity", kInf},
      {" -Infinity ", -kInf},
      {R"("NaN")", "NaN"},
      {R"("a\"\\\/\b\f\n\r\té😀")", "a\"\\/\b\f\n\r\t\xC3\xA9\xF0\x9F\x98\x80"},
      {R"("\u00e9\ud83d\ude00")", "\xC3\xA9\xF0\x9F\x98\x80"},
      {R"("\u0000")", std::string(1, '\0')},
      {R"("[1,2] NaN {")", "[1,2] NaN {"},
      {"[]", List{}},
      {"{}", Dict{}},
      {"[1, 2,\t3]", Ints{1, 2, 3}},
      {"[1,2.5]", Doubles{1, 2.5}},
      {"[-0.0,-1e-999,1e-999]", Doubles{-0.0, -0.0, 0.0}},
      {"[ NaN , Infinity,-Infinity, 1 ]", Doubles{std::nan(""), kInf, -kInf, 1}},
      {"[1,null]", List{1, {}}},
      {"[1,\"NaN\"]", List{1, "NaN"}},
      {"[1,NaN,\"x\"]", List{1, std::nan(""), "x"}},
      {"[[1],[2.0],[]]", List{Ints{1}, Doubles{2}, List{}}},
      {R"({"a":[1],"":{"b":NaN}})", Dict{{"a", Ints{1}}, {"", Dict{{"b", std::nan("")}}}}},
      {R"({"$handle":"h-abc-12"})", handle},
      {R"([{"$handle":"h-abc-12"}])", List{handle}},
      {R"({"$handle":"h-abc-12","x":1})", Dict{{"$handle", "h-abc-12"}, {"x", 1}}},
  };
  for (const auto& row : rows) EXPECT_TRUE(reads_as(row.text, row.want)) << row.text;
}

TEST(JsonParse, ArgsKeepTheElementsOfTheOutermostArray) {
  const auto args = [](std::string_view text) {
    const Result<Value> v = parse_json_args(text);
    EXPECT_TRUE(v.ok()) << v.status().message();
    return *v;
  };
  EXPECT_TRUE(identical(args("[6,6,6]"), List{6, 6, 6}));
  EXPECT_TRUE(identical(args("[[6,6],NaN,1.5]"), List{std::vector<std::int64_t>{6, 6}, std::nan(""), 1.5}));
  EXPECT_TRUE(identical(args("{\"a\":[6]}"), Dict{{"a", std::vector<std::int64_t>{6}}}));
  EXPECT_TRUE(identical(args(""), Value()));
  EXPECT_TRUE(identical(args("null"), Value()));
  EXPECT_TRUE(identical(args("7"), Value(7)));
  EXPECT_FALSE(parse_json_args(" ").ok());
}

TEST(JsonParse, AMessageKeepsTheElementsOfItsArgs) {
  const Result<Value> v = parse_json_message(
      R"({"args" : [3, 2.5, [1,2]], "other": [1,2], "requests": [{"args":[1,2]}, {"args":{"x":[1,2]}}], "s": "\"args\":"})");
  ASSERT_TRUE(v.ok()) << v.status().message();
  const Value ints = std::vector<std::int64_t>{1, 2};
  EXPECT_TRUE(identical((*v)["args"], List{3, 2.5, ints}));
  EXPECT_TRUE(identical((*v)["other"], ints));
  const List& requests = *(*v)["requests"].get_if<List>();
  EXPECT_TRUE(identical(requests[0]["args"], List{1, 2}));
  EXPECT_TRUE(identical(requests[1]["args"]["x"], ints));
  EXPECT_FALSE(parse_json_message(R"({"args": [1, 2)").ok());
}

TEST(JsonParse, RefusalsCarryTheOffsetOfTheText) {
  const std::string deep(64, '[');
  const struct {
    std::string text;
    std::string_view message;  // behind "malformed JSON at byte "
  } rows[] = {
      {"", "0: unexpected end of input; expected '[', '{', or a literal"},
      {"nul", "3: invalid literal"},
      {"Nan", "0: invalid literal"},
      {"[1,2", "4: unexpected end of input; expected ']'"},
      {"[1,]", "3: unexpected ']'; expected '[', '{', or a literal"},
      {"[1 2]", "3: unexpected number literal; expected ']'"},
      {"[1]]", "3: unexpected ']'; expected end of input"},
      {"[1,2] x", "6: invalid literal"},
      {"[1,2,3] [4,5,6] ", "8: unexpected '['; expected end of input"},
      {"{\"a\" 1}", "5: unexpected number literal; expected ':'"},
      {"{\"a\":[1,2,3],\"b\":[4,5],,}", "23: unexpected ','; expected string literal"},
      {"{a:1}", "1: invalid literal"},
      {"{NaN:1}", "1: unexpected '['; expected string literal"},
      {"1NaN", "1: unexpected '['; expected end of input"},
      {"[01]", "2: unexpected number literal; expected ']'"},
      {"[+1]", "1: invalid literal"},
      {"[1.]", "3: invalid number; expected digit after '.'"},
      {"[.5]", "1: invalid literal"},
      {"[1e]", "3: invalid number; expected '+', '-', or digit after exponent"},
      {"[0x10]", "2: invalid literal"},
      {"[-]", "2: invalid number; expected digit after '-'"},
      {"[1e999]", "1: a number that no double holds"},
      {"[1,-1e400]", "3: a number that no double holds"},
      {"1e999", "0: a number that no double holds"},
      {"9223372036854775808", "0: an integer that does not fit 64 bits"},
      {"-9223372036854775809", "0: an integer that does not fit 64 bits"},
      {"[1.5,9223372036854775808]", "5: an integer that does not fit 64 bits"},
      {"{\"a\":[1,2,3],\"b\":9223372036854775808}", "17: an integer that does not fit 64 bits"},
      {"{\"a\":123456789012345678901234567890 }", "5: an integer that does not fit 64 bits"},
      {"{\"a\":[1,2,3],\"b\":1,\"a\":2}", "19: the key 'a' is repeated"},
      {R"({"a\"":1,"a\"":2})", R"(9: the key 'a"' is repeated)"},
      {std::string("[1]\0", 4), "3: a NUL byte"},
      {std::string("\"\0\"", 3), "1: a NUL byte"},
      {"\"\n\"", "1: invalid string: control character U+000A (LF) must be escaped to \\u000A or \\n"},
      {"\"\xFF\"", "1: invalid string: ill-formed UTF-8 byte"},
      {"\"\xC0\x80\"", "1: invalid string: ill-formed UTF-8 byte"},
      {"\"\xED\xA0\x80\"", "2: invalid string: ill-formed UTF-8 byte"},
      {"\xC3\xA9", "0: invalid literal"},
      {R"("\ud800")", "7: invalid string: surrogate U+D800..U+DBFF must be followed by U+DC00..U+DFFF"},
      {R"("\udc00")", "6: invalid string: surrogate U+DC00..U+DFFF must follow U+D800..U+DBFF"},
      {R"("\x41")", "2: invalid string: forbidden character after backslash"},
      {"\"abc", "4: invalid string: missing closing quote"},
      {"\"abc\\", "5: invalid string: forbidden character after backslash"},
      {R"({"$handle":"nope"})", "17: 'nope' is no handle; one reads 'h-<hex>-<hex>'"},
      {R"({"$handle":7})", "12: '$handle' must be a string"},
      {deep + "[", "64: nested more than 64 deep"},
      {deep + "1", "65: unexpected end of input; expected ']'"},
      {deep + "{", "64: nested more than 64 deep"},
  };
  for (const auto& row : rows) {
    const Result<Value> v = parse_json(row.text);
    ASSERT_FALSE(v.ok()) << row.text;
    EXPECT_EQ(v.status().reason(), Reason::kInvalidArguments) << row.text;
    EXPECT_EQ(v.status().message(), "malformed JSON at byte " + std::string(row.message)) << row.text;
  }
}

TEST(JsonParse, NestingIsRefusedBeforeAnythingIsBuilt) {
  for (const std::string_view unit : {"[", "{\"a\":", "[1,[2],"}) {
    std::string text;
    text.reserve(100'000'010);
    while (text.size() < 100'000'000) text += unit;
    EXPECT_FALSE(parse_json(text).ok());
    EXPECT_FALSE(parse_json_args(text).ok());
  }
  const std::string deepest = std::string(64, '[') + std::string(64, ']');
  EXPECT_TRUE(parse_json(deepest).ok());
}

// The oracle: nlohmann's own document of the same text.
::testing::AssertionResult agrees(const Value& v, const nlohmann::json& want) {
  const auto differ = [&] { return ::testing::AssertionFailure() << to_json(v) << " against " << want.dump(); };
  if (const auto* t = v.get_if<Tensor>()) {
    if (!want.is_array() || static_cast<std::size_t>(t->elements()) != want.size()) return differ();
    for (std::size_t i = 0; i < want.size(); ++i) {
      const bool same =
          t->dtype() == DType::kI64
              ? want[i].is_number_integer() && t->as<std::int64_t>()[i] == want[i].get<std::int64_t>()
              : std::bit_cast<std::uint64_t>(t->as<double>()[i]) == std::bit_cast<std::uint64_t>(want[i].get<double>());
      if (!same) return differ();
    }
    return ::testing::AssertionSuccess();
  }
  switch (v.kind()) {
    case Kind::kNull: return want.is_null() ? ::testing::AssertionSuccess() : differ();
    case Kind::kBool: return want.is_boolean() && want == *v.get_if<bool>() ? ::testing::AssertionSuccess() : differ();
    case Kind::kInt:
      return want.is_number_integer() && want == *v.get_if<std::int64_t>() ? ::testing::AssertionSuccess() : differ();
    case Kind::kFloat:
      return want.is_number_float() && want.get<double>() == *v.get_if<double>() ? ::testing::AssertionSuccess()
                                                                                 : differ();
    case Kind::kString:
      return want.is_string() && want == *v.get_if<std::string>() ? ::testing::AssertionSuccess() : differ();
    case Kind::kList: {
      const List& list = *v.get_if<List>();
      if (!want.is_array() || list.size() != want.size()) return differ();
      for (std::size_t i = 0; i < list.size(); ++i)
        if (auto r = agrees(list[i], want[i]); !r) return r;
      return ::testing::AssertionSuccess();
    }
    case Kind::kDict: {
      const Dict& dict = *v.get_if<Dict>();
      if (!want.is_object() || dict.size() != want.size()) return differ();
      for (const auto& [key, member] : dict) {
        if (!want.contains(key)) return differ();
        if (auto r = agrees(member, want[key]); !r) return r;
      }
      return ::testing::AssertionSuccess();
    }
    default: return differ();
  }
}

std::string random_text(Rng& rng) {
  constexpr std::string_view kPieces[] = {"a", "\"", "\\", "/", "\n", "\x01", "\xC3\xA9", "\xF0\x9F\x98\x80",
                                          "[", "NaN"};
  std::string out;
  for (std::int64_t n = rng.integer(0, 6); n > 0; --n) out += kPieces[rng.integer(0, std::ssize(kPieces) - 1)];
  return out;
}

double random_double(Rng& rng) {
  for (;;) {
    const auto d = std::bit_cast<double>(rng.engine()());
    if (std::isfinite(d)) return d;
  }
}

nlohmann::json random_document(Rng& rng, int depth) {
  switch (rng.integer(0, depth > 0 ? 8 : 5)) {
    case 0: return nullptr;
    case 1: return rng.integer(0, 1) == 1;
    case 2: return static_cast<std::int64_t>(rng.engine()());
    case 3: return random_double(rng);
    case 4: return random_text(rng);
    case 5: return rng.integer(-9, 9);
    case 6: {
      auto array = nlohmann::json::array();
      const bool numbers = rng.integer(0, 1) == 1;
      for (std::int64_t n = rng.integer(0, 5); n > 0; --n)
        array.push_back(numbers ? nlohmann::json(random_double(rng)) : random_document(rng, depth - 1));
      return array;
    }
    default: {
      auto object = nlohmann::json::object();
      for (std::int64_t n = rng.integer(0, 5); n > 0; --n) object[random_text(rng)] = random_document(rng, depth - 1);
      return object;
    }
  }
}

TEST(JsonParse, AgreesWithNlohmannOnRandomDocuments) {
  Rng rng(1901);
  SCOPED_TRACE(rng.trace());
  for (int i = 0; i < 3000; ++i) {
    const nlohmann::json want = random_document(rng, 5);
    const std::string text = want.dump(i % 3 == 0 ? 2 : -1, ' ', i % 2 == 0);
    ASSERT_TRUE(agrees(parsed(text), want)) << text;
    // And in the other direction: what is written is JSON to nlohmann, with the same content.
    const std::string written = to_json(parsed(text));
    ASSERT_TRUE(nlohmann::json::accept(written)) << written;
    ASSERT_EQ(nlohmann::json::parse(written), want) << written;
  }
}

TEST(JsonParse, AcceptsWhatNlohmannAcceptsOfBrokenDocuments) {
  Rng rng(1902);
  SCOPED_TRACE(rng.trace());
  constexpr std::string_view kBytes = "[]{},:\"\\ 0123456789.eE+-tfnul\x01\xC3";
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = random_document(rng, 3).dump();
    const auto at = static_cast<std::size_t>(rng.integer(0, std::ssize(text) - 1));
    text[at] = kBytes[rng.integer(0, std::ssize(kBytes) - 1)];
    const nlohmann::json want = nlohmann::json::parse(text, nullptr, false);
    const Result<Value> got = parse_json(text);
    if (got.ok()) {
      ASSERT_FALSE(want.is_discarded()) << text;
      ASSERT_TRUE(agrees(*got, want)) << text;
      ++accepted;
    } else if (!want.is_discarded()) {  // ours refuses more: integers over 64 bits and repeated keys
      const std::string& why = got.status().message();
      EXPECT_TRUE(why.find("fit 64 bits") != why.npos || why.find("repeated") != why.npos) << text << ": " << why;
    }
  }
  EXPECT_GT(accepted, 1000);
}

TEST(JsonParse, ALogitsRowReadsBackToTheBit) {
  Rng rng(1903);
  SCOPED_TRACE(rng.trace());
  std::vector<double> logits(151936);
  for (double& x : logits) x = rng.normal();
  const Value value(logits);
  const Value back = parsed(to_json(value));
  ASSERT_NE(back.get_if<Tensor>(), nullptr);
  EXPECT_TRUE(same_bits<double>(back.get_if<Tensor>()->as<double>(), logits));
}

TEST(JsonWrite, EveryKindReadsBackIdentical) {
  const Value values[] = {
      {},
      true,
      false,
      0,
      INT64_MIN,
      INT64_MAX,
      0.1,
      -0.0,
      2.0,
      1e22,
      5e-324,
      std::numeric_limits<double>::max(),
      "",
      "\"\\\n\x7f\xF0\x9F\x98\x80",
      std::string("\0\x1f", 2),
      std::vector<double>{1, -0.0, 1e300},
      std::vector<std::int64_t>{INT64_MIN, 0, INT64_MAX},
      List{},
      List{1, "x", List{}, std::vector<double>{1}},
      Dict{},
      Dict{{"b", 1}, {"a", Dict{{"", {}}}}},
      Handle{1, 2},
  };
  for (const Value& value : values) {
    for (const NonFinite mode : {NonFinite::kStrings, NonFinite::kTokens}) {
      const std::string text = to_json(value, mode);
      EXPECT_TRUE(reads_as(text, value)) << text;
      EXPECT_TRUE(nlohmann::json::accept(text)) << text;
    }
  }
}

TEST(JsonWrite, Spelling) {
  const auto tensor = [](DType dtype, const Shape& shape, const auto& data) {
    return Value(Tensor::borrow(dtype, shape, data.data()));
  };
  const std::array<float, 6> floats{0.1F, -2, 3e38F, 1e-45F, 16777216, 0.5F};
  const std::array<F16, 2> halves{to_f16(0.1F), to_f16(65504)};
  const std::array<BF16, 2> bhalves{to_bf16(0.1F), to_bf16(-1)};
  const std::array<std::int8_t, 4> bytes{-128, 127, 0, 1};
  const std::array<std::uint8_t, 1> top{255};
  const struct {
    Value value;
    std::string_view text;
  } rows[] = {
      {2.0, "2.0"},
      {-0.0, "-0.0"},
      {1e21, "1e+21"},
      {0.1, "0.1"},
      {std::nan(""), "\"NaN\""},
      {-std::nan(""), "\"NaN\""},
      {kInf, "\"Infinity\""},
      {std::vector<double>{-kInf, 1}, "[\"-Infinity\",1.0]"},
      {"a\xFF\xC3z", "\"a\\ufffd\\ufffdz\""},
      {"\x01\b\"\\", R"("\u0001\u0008\"\\")"},
      {tensor(DType::kF32, {2, 3}, floats), "[[0.1,-2.0,3e+38],[1e-45,16777216.0,0.5]]"},
      {tensor(DType::kF32, {1, 3, 2, 1}, floats), "[[[[0.1],[-2.0]],[[3e+38],[1e-45]],[[16777216.0],[0.5]]]]"},
      {tensor(DType::kF32, {}, floats), "0.1"},
      {tensor(DType::kF32, {std::int64_t{1} << 40, 0}, floats), "[]"},
      {tensor(DType::kF16, {2}, halves), "[0.099975586,65504.0]"},
      {tensor(DType::kBF16, {2}, bhalves), "[0.100097656,-1.0]"},
      {tensor(DType::kI8, {2, 2}, bytes), "[[-128,127],[0,1]]"},
      {tensor(DType::kU8, {1}, top), "[255]"},
      {Tensor(), "[]"},
  };
  for (const auto& row : rows) EXPECT_EQ(to_json(row.value), row.text);
  EXPECT_EQ(to_json(Value(List{std::nan(""), kInf, -kInf}), NonFinite::kTokens), "[NaN,Infinity,-Infinity]");
}

TEST(JsonWrite, WithinALimit) {
  const Value value = Dict{{"a", std::vector<double>(1000, 1.0)}, {"b", List(1000, Value("text"))}, {"c", 5}};
  const std::string text = to_json(value);
  EXPECT_EQ(*to_json_within(text.size(), value), text);
  for (const std::size_t limit :
       {std::size_t{0}, std::size_t{1}, std::size_t{2000}, std::size_t{9000}, text.size() - 1}) {
    const Result<std::string> over = to_json_within(limit, value);
    ASSERT_FALSE(over.ok()) << limit;
    EXPECT_EQ(over.status().reason(), Reason::kResourceExhausted);
    EXPECT_EQ(over.status().message(), "as JSON it is over the limit of " + std::to_string(limit) + " bytes");
  }
}

TEST(JsonWrite, TheResultObject) {
  ExecuteResult r;
  r.module = "llmk.residual";
  r.function = "residual_add_flat";
  r.request_id = "r-1";
  r.result = Dict{{"n", 2}};
  r.status = 560;
  r.status_name = "llmk_ok";
  r.latency_ms = 0.25;
  r.engine_used = "reference";
  EXPECT_EQ(to_json(r), R"({"module":"llmk.residual","function":"residual_add_flat","request_id":"r-1","success":true,)"
                        R"("result":{"n":2},"status":560,"status_name":"llmk_ok","error_code":"","error":"",)"
                        R"("latency_ms":0.25,"engine_used":"reference"})");
  r.result = {};
  r.error = invalid("no");
  r.mutated = Dict{{"x", std::vector<double>{1}}};
  const Value back = parsed(to_json(r));
  EXPECT_TRUE(identical(back["success"], false));
  EXPECT_TRUE(identical(back["error_code"], "invalid_arguments"));
  EXPECT_TRUE(identical(back["error"], "no"));
  EXPECT_TRUE(back.find("result") != nullptr && back["result"].is_null());
  EXPECT_TRUE(identical(back["mutated"]["x"], std::vector<double>{1}));
}

}  // namespace
}  // namespace krt
