#include "runtime/core/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace krt {
namespace {

constexpr std::int64_t kBig = std::int64_t{1} << 62U;

TEST(DTypeTable, EveryTypeHasItsNameAndSize) {
  const struct {
    DType dtype;
    std::string_view name;
    int bytes;
  } rows[] = {{DType::kF64, "f64", 8},   {DType::kF32, "f32", 4}, {DType::kF16, "f16", 2},
              {DType::kBF16, "bf16", 2}, {DType::kI8, "i8", 1},   {DType::kU8, "u8", 1},
              {DType::kI16, "i16", 2},   {DType::kI32, "i32", 4}, {DType::kI64, "i64", 8}};
  for (const auto& row : rows) {
    EXPECT_EQ(info_of(row.dtype).name, row.name);
    EXPECT_EQ(info_of(row.dtype).block_bytes, row.bytes);
    EXPECT_EQ(info_of(row.dtype).block_elements, 1);
    EXPECT_EQ(dtype_named(row.name), row.dtype);
  }
  EXPECT_FALSE(dtype_named("F64").has_value());
  EXPECT_FALSE(dtype_named("").has_value());
}

TEST(ShapeType, CountsElements) {
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape({0}).elements(), 0);
  EXPECT_EQ(Shape({2, 3, 4, 5}).elements(), 120);
  EXPECT_EQ(Shape({kBig, 4, 0}).elements(), 0) << "a zero wins over an overflow";
  EXPECT_EQ(Shape({2, 3}).str(), "[2,3]");
  EXPECT_EQ(Shape().str(), "[]");
}

TEST(ShapeType, ChecksWhatComesFromOutside) {
  const struct {
    std::vector<std::int64_t> dims;
    std::string_view refusal;
  } rows[] = {
      {{}, ""},
      {{0}, ""},
      {{kBig, 1, 1, 1}, ""},
      {{kBig, 4, 0}, ""},
      {{std::numeric_limits<std::int64_t>::max()}, ""},
      {{1, 2, 3, 4, 5}, "a tensor has at most 4 dimensions, got 5"},
      {{2, -1}, "dimension 1 is negative: -1"},
      {{std::numeric_limits<std::int64_t>::min()}, "dimension 0 is negative: -9223372036854775808"},
      {{kBig, 2}, "the product of shape [4611686018427387904,2] does not fit 63 bits"},
      {{3037000500, 3037000500}, "the product of shape [3037000500,3037000500] does not fit 63 bits"},
      {{65536, 65536, 65536, 65536}, "the product of shape [65536,65536,65536,65536] does not fit 63 bits"},
  };
  for (const auto& row : rows) {
    const Result<Shape> shape = Shape::checked(row.dims);
    EXPECT_EQ(shape.status().message(), row.refusal);
    if (shape.ok()) {
      EXPECT_TRUE(std::ranges::equal(shape->dims(), row.dims));
    }
  }
}

TEST(BytesFor, RefusesWhatDoesNotFit) {
  EXPECT_EQ(*bytes_for(DType::kF64, {2, 3}), 48U);
  EXPECT_EQ(*bytes_for(DType::kU8, {kBig}), std::size_t{1} << 62U);
  EXPECT_EQ(bytes_for(DType::kF64, {kBig}).status().message(),
            "shape [4611686018427387904] of f64 does not fit 63 bits of bytes");
}

TEST(TensorType, ZerosOrRefuses) {
  const Result<Tensor> t = Tensor::zeros(DType::kI32, {3, 5});
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->bytes(), 60U);
  EXPECT_TRUE(t->writable());
  for (const std::int32_t x : t->as<std::int32_t>()) EXPECT_EQ(x, 0);
  EXPECT_EQ(Tensor::zeros(DType::kF64, {0, 7})->elements(), 0);
  EXPECT_EQ(Tensor::zeros(DType::kF64, {kBig}).status().reason(), Reason::kInvalidArguments);
  EXPECT_EQ(Tensor::zeros(DType::kU8, {kBig}).status().reason(), Reason::kResourceExhausted);
}

TEST(TensorType, OwnsWithoutCopying) {
  std::vector<double> values{1, 2, 3};
  const double* data = values.data();
  const Tensor t = Tensor::own(std::move(values));
  EXPECT_EQ(t.data(), data);
  const Tensor copy = t;
  EXPECT_EQ(copy.data(), data) << "a copy is a reference";
  EXPECT_EQ(copy.as<double>()[2], 3);
}

TEST(TensorType, BorrowsAndKeepsAlive) {
  const std::vector<float> values{1, 2};
  const Tensor read_only = Tensor::borrow(std::span(values));
  EXPECT_FALSE(read_only.writable());
  EXPECT_EQ(read_only.mutable_data(), nullptr);
  EXPECT_EQ(read_only.data(), values.data());
  std::weak_ptr<std::vector<std::int8_t>> watched;
  Tensor kept;
  {
    auto owner = std::make_shared<std::vector<std::int8_t>>(4, std::int8_t{7});
    watched = owner;
    void* data = owner->data();
    kept = Tensor::borrow_mutable(DType::kI8, {2, 2}, data, std::move(owner));
  }
  ASSERT_FALSE(watched.expired());
  EXPECT_EQ(kept.as_mutable<std::int8_t>()[3], 7);
  kept = Tensor();
  EXPECT_TRUE(watched.expired());
}

TEST(TensorType, GivesItsElementsOnlyAsTheirOwnType) {
  const Tensor t = Tensor::own(std::vector<float>{1, 2});
  EXPECT_EQ(t.as<float>().size(), 2U);
  EXPECT_TRUE(t.as<double>().empty());
  EXPECT_TRUE(t.as<std::int32_t>().empty()) << "of the same width, and another type";
  EXPECT_EQ(Tensor().dtype(), DType::kF64);
  EXPECT_EQ(Tensor().elements(), 0);
  const Tensor reshaped = t.reshaped({2, 1});
  EXPECT_EQ(reshaped.shape(), Shape({2, 1}));
  EXPECT_EQ(reshaped.data(), t.data());
}

}  // namespace
}  // namespace krt
