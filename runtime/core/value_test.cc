#include "runtime/core/value.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace krt {
namespace {

const Dict kDict{{"a", 1}, {"b", List{1, 2.5}}};

TEST(ValueType, KnowsItsKind) {
  const struct {
    Value value;
    Kind kind;
    std::string_view text;
  } rows[] = {
      {{}, Kind::kNull, "null"},
      {nullptr, Kind::kNull, "null"},
      {true, Kind::kBool, "bool"},
      {7, Kind::kInt, "int"},
      {std::int64_t{7}, Kind::kInt, "int"},
      {7.0, Kind::kFloat, "float"},
      {"text", Kind::kString, "string"},
      {std::string_view("text"), Kind::kString, "string"},
      {std::vector<double>{1, 2}, Kind::kTensor, "f64[2]"},
      {Tensor::own(std::vector<float>(6)).reshaped({2, 3}), Kind::kTensor, "f32[2,3]"},
      {List{1}, Kind::kList, "list"},
      {kDict, Kind::kDict, "dict"},
      {Handle{1, 2}, Kind::kHandle, "handle"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(row.value.kind(), row.kind);
    EXPECT_EQ(type_text(row.value), row.text);
    EXPECT_TRUE(identical(row.value, row.value)) << row.text;
  }
}

TEST(ValueType, FindsMembers) {
  const Value dict = kDict;
  EXPECT_TRUE(identical(dict["a"], 1));
  EXPECT_TRUE(dict["missing"].is_null());
  EXPECT_EQ(dict.find("missing"), nullptr);
  EXPECT_EQ(Value(7).find("a"), nullptr);
  EXPECT_TRUE(Value(List{})["a"].is_null());
}

TEST(ValueType, IdenticalMeansToTheBit) {
  const double other_nan = std::bit_cast<double>(std::bit_cast<std::uint64_t>(std::nan("")) | 1U);
  EXPECT_TRUE(identical(std::nan(""), std::nan("")));
  EXPECT_FALSE(identical(std::nan(""), other_nan));
  EXPECT_TRUE(identical(std::vector<double>{std::nan("")}, std::vector<double>{std::nan("")}));
  const std::pair<Value, Value> different[] = {
      {0.0, -0.0},
      {1, 1.0},
      {1, true},
      {"a", "b"},
      {{}, 0},
      {std::vector<double>{0.0}, std::vector<double>{-0.0}},
      {std::vector<double>{1}, std::vector<float>{1}},
      {std::vector<double>{}, std::vector<float>{}},
      {std::vector<double>{1}, List{1.0}},
      {Tensor::own(std::vector<double>(6)).reshaped({2, 3}), Tensor::own(std::vector<double>(6)).reshaped({3, 2})},
      {List{1}, List{1, 2}},
      {Dict{{"a", 1}}, Dict{{"b", 1}}},
      {Dict{{"a", 1}, {"b", 2}}, Dict{{"b", 2}, {"a", 1}}},
      {Handle{1, 2}, Handle{2, 2}},
      {Handle{1, 2}, Handle{1, 3}},
  };
  for (const auto& [a, b] : different) {
    EXPECT_FALSE(identical(a, b)) << type_text(a) << ", " << type_text(b);
    EXPECT_FALSE(identical(b, a));
  }
}

}  // namespace
}  // namespace krt
