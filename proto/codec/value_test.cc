// The codec against the generated classes, which nobody here wrote: what the writer wrote is what they parse, and what
// they wrote is what the reader takes.

#include "proto/codec/value.h"

#include <gtest/gtest.h>

#include <limits>

#include "proto/codec/message.h"
#include "runtime/testing/random.h"

namespace krt::wire {
namespace {

using testing::Rng;

constexpr int kField = v1::GetHandleResponse::kValueFieldNumber;

Result<grpc::ByteBuffer> written(const Value& value, TensorMemory memory = TensorMemory::kShared) {
  Writer writer(memory);
  put_value(writer, kField, value);
  return writer.finish();
}

// Written here, parsed by the generated class.
v1::Value parsed(const Value& value, TensorMemory memory = TensorMemory::kShared) {
  Result<grpc::ByteBuffer> bytes = written(value, memory);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  v1::GetHandleResponse message;
  EXPECT_TRUE(parse(*bytes, message));
  return message.value();
}

Value taken(v1::Value message) {
  const auto owner = std::make_shared<v1::Value>(std::move(message));
  Result<Value> value = take_value(*owner, owner, "v");
  EXPECT_TRUE(value.ok()) << value.status().message();
  return value.ok() ? *value : Value();
}

std::string refusal(v1::Value message) {
  const auto owner = std::make_shared<v1::Value>(std::move(message));
  Result<Value> value = take_value(*owner, owner, "args");
  EXPECT_EQ(value.status().reason(), Reason::kInvalidArguments);
  return value.status().message();
}

v1::Value tensor_message(int dtype, std::vector<std::int64_t> shape, std::string data) {
  v1::Value message;
  message.mutable_tensor()->set_dtype(static_cast<v1::DType>(dtype));
  message.mutable_tensor()->mutable_shape()->Assign(shape.begin(), shape.end());
  message.mutable_tensor()->set_data(std::move(data));
  return message;
}

Value nested(int levels) {
  Value value = 1;
  for (int i = 1; i < levels; ++i) value = i % 2 == 0 ? Value(List{value}) : Value(Dict{{"x", value}});
  return value;
}

struct Row {
  const char* name;
  Value value;
  v1::Value message;
};

v1::Value with(const std::function<void(v1::Value&)>& set) {
  v1::Value message;
  set(message);
  return message;
}

std::vector<Row> rows() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Row> out{
      {"null", {}, with([](auto& m) { m.set_null_value(google::protobuf::NULL_VALUE); })},
      {"false", false, with([](auto& m) { m.set_bool_value(false); })},
      {"true", true, with([](auto& m) { m.set_bool_value(true); })},
      {"zero", 0, with([](auto& m) { m.set_int_value(0); })},
      {"least", std::numeric_limits<std::int64_t>::min(), with([](auto& m) { m.set_int_value(INT64_MIN); })},
      {"largest", std::numeric_limits<std::int64_t>::max(), with([](auto& m) { m.set_int_value(INT64_MAX); })},
      {"minus zero", -0.0, with([](auto& m) { m.set_float_value(-0.0); })},
      {"nan", nan, with([&](auto& m) { m.set_float_value(nan); })},
      {"text", "\xE2\x82\xAC", with([](auto& m) { m.set_string_value("\xE2\x82\xAC"); })},
      {"no text", "", with([](auto& m) { m.set_string_value(""); })},
      {"handle", Handle{~0ULL, 300}, with([](auto& m) {
         m.mutable_handle()->set_runtime(~0ULL);
         m.mutable_handle()->set_id(300);
       })},
      {"no list", List{}, with([](auto& m) { m.mutable_list(); })},
      {"no dict", Dict{}, with([](auto& m) { m.mutable_dict(); })},
      {"list", List{1, "two", List{}}, with([](auto& m) {
         m.mutable_list()->add_items()->set_int_value(1);
         m.mutable_list()->add_items()->set_string_value("two");
         m.mutable_list()->add_items()->mutable_list();
       })},
      {"dict", Dict{{"b", 1}, {"a", Value()}}, with([](auto& m) {
         auto* b = m.mutable_dict()->add_entries();
         b->set_name("b");
         b->mutable_value()->set_int_value(1);
         auto* a = m.mutable_dict()->add_entries();
         a->set_name("a");
         a->mutable_value()->set_null_value(google::protobuf::NULL_VALUE);
       })},
  };
  for (int dtype = v1::DTYPE_F64; dtype <= v1::DTYPE_I64; ++dtype) {
    const std::string name = v1::DType_Name(dtype).substr(6);
    std::string lower;
    for (const char c : name) lower += static_cast<char>(std::tolower(c));
    const DType type = *dtype_named(lower);
    const Shape shape{2, 1, 3};
    const std::size_t bytes = *bytes_for(type, shape);
    Tensor tensor = *Tensor::zeros(type, shape);
    for (std::size_t i = 0; i < bytes; ++i)
      static_cast<char*>(tensor.mutable_data())[i] = static_cast<char>(i * 37 + 1);
    out.push_back(
        {"tensor", tensor, tensor_message(dtype, {2, 1, 3}, {static_cast<const char*>(tensor.data()), bytes})});
  }
  out.push_back({"one element", Tensor::own(std::vector<double>{7}).reshaped(Shape{}),
                 tensor_message(v1::DTYPE_F64, {}, std::string("\0\0\0\0\0\0\x1c\x40", 8))});
  out.push_back({"no element", Tensor::own(std::vector<float>{}), tensor_message(v1::DTYPE_F32, {0}, "")});
  return out;
}

TEST(Codec, WritesWhatTheGeneratedClassesParse) {
  for (const Row& row : rows())
    EXPECT_EQ(parsed(row.value).SerializeAsString(), row.message.SerializeAsString())
        << row.name << ": " << parsed(row.value).DebugString();
}

TEST(Codec, TakesWhatTheGeneratedClassesHold) {
  for (const Row& row : rows()) EXPECT_TRUE(identical(taken(row.message), row.value)) << row.name;
  EXPECT_TRUE(taken(v1::Value()).is_null());
}

TEST(Codec, ControlAnotherValueIsNoticed) {
  EXPECT_NE(parsed(Value(0.0)).SerializeAsString(), rows()[6].message.SerializeAsString());
  EXPECT_FALSE(identical(taken(rows()[6].message), Value(0.0)));
}

// Sizes around the writer's first chunk and around kOwnSlice, alone and between other fields.
TEST(Codec, RoundTripsTensorsOfEverySize) {
  Rng rng(20261130);
  SCOPED_TRACE(rng.trace());
  for (const std::size_t n : {1U, 55U, 63U, 64U, 65U, 500U, 2047U, 2048U, 2049U, 100000U}) {
    const Value value = List{"front", rng.normals<double>(n), Dict{{"x", rng.normals<float>(n)}}, n > 60 ? 1 : 2};
    for (const TensorMemory memory : {TensorMemory::kShared, TensorMemory::kCopied})
      EXPECT_TRUE(identical(taken(parsed(value, memory)), value)) << n;
  }
}

TEST(Codec, ALargeTensorIsSharedUnlessItMustBeCopied) {
  std::vector<double> values(Writer::kOwnSlice / sizeof(double), 1.0);
  const Value value = Tensor::borrow<double>(values);
  const grpc::ByteBuffer shared = *written(value, TensorMemory::kShared);
  const grpc::ByteBuffer copied = *written(value, TensorMemory::kCopied);
  values[0] = 2;
  const auto first = [](const grpc::ByteBuffer& bytes) {
    v1::GetHandleResponse message;
    EXPECT_TRUE(parse(bytes, message));
    return taken(message.value()).get_if<Tensor>()->as<double>()[0];
  };
  EXPECT_EQ(first(shared), 2);
  EXPECT_EQ(first(copied), 1);
}

TEST(Codec, TensorsBorrowTheMessageAndKeepIt) {
  auto message = std::make_shared<v1::Value>(parsed(Value(std::vector<double>(100, 3.0))));
  const void* data = message->tensor().data().data();
  Value value = *take_value(*message, message, "v");
  message.reset();
  EXPECT_EQ(value.get_if<Tensor>()->data(), data);
  EXPECT_TRUE(value.get_if<Tensor>()->writable());
  EXPECT_EQ(value.get_if<Tensor>()->as<double>()[99], 3.0);
}

TEST(Codec, UnalignedBytesAreCopied) {
  alignas(8) std::array<char, 24> bytes{};
  const std::int64_t shape[] = {2};
  const Tensor aligned = *tensor_over(v1::DTYPE_F64, shape, std::span(bytes).subspan(8, 16), nullptr);
  EXPECT_EQ(aligned.data(), bytes.data() + 8);
  for (const std::size_t offset : {1U, 4U, 7U}) {
    const Tensor copied = *tensor_over(v1::DTYPE_F64, shape, std::span(bytes).subspan(offset, 16), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copied.data()) % 8, 0U);
    EXPECT_EQ(copied.elements(), 2);
  }
}

TEST(Codec, RefusesTensorsThatContradictThemselves) {
  const std::int64_t huge = std::int64_t{1} << 62U;
  const struct {
    int dtype;
    std::vector<std::int64_t> shape;
    std::size_t bytes;
    const char* text;
  } cases[] = {
      {v1::DTYPE_F64, {3}, 23, "args: a tensor f64[3] has 24 bytes, got 23"},
      {v1::DTYPE_F64, {3}, 0, "args: a tensor f64[3] has 24 bytes, got 0"},
      {v1::DTYPE_F32, {}, 0, "args: a tensor f32[] has 4 bytes, got 0"},
      {v1::DTYPE_I8, {2, 2}, 5, "args: a tensor i8[2,2] has 4 bytes, got 5"},
      {v1::DTYPE_F64, {-1}, 8, "args: dimension 0 is negative: -1"},
      {v1::DTYPE_F64, {huge, 4}, 0, "args: the product of shape [4611686018427387904,4] does not fit 63 bits"},
      {v1::DTYPE_F64, {huge}, 0, "args: shape [4611686018427387904] of f64 does not fit 63 bits of bytes"},
      {v1::DTYPE_F64, {1, 1, 1, 1, 1}, 8, "args: a tensor has at most 4 dimensions, got 5"},
      {v1::DTYPE_UNSPECIFIED, {1}, 8, "args: dtype 0 is not known"},
      {77, {1}, 8, "args: dtype 77 is not known"},
  };
  for (const auto& c : cases) EXPECT_EQ(refusal(tensor_message(c.dtype, c.shape, std::string(c.bytes, 'x'))), c.text);
}

TEST(Codec, SaysWhereTheWrongValueIs) {
  v1::Value message;
  message.mutable_list()->add_items();
  auto* entry = message.mutable_list()->add_items()->mutable_dict()->add_entries();
  entry->set_name("x");
  *entry->mutable_value() = tensor_message(v1::DTYPE_I8, {1}, "");
  EXPECT_EQ(refusal(message), "args[1]['x']: a tensor i8[1] has 1 bytes, got 0");
}

TEST(Codec, RefusesANameGivenTwice) {
  v1::Value message;
  message.mutable_dict()->add_entries()->set_name("a");
  message.mutable_dict()->add_entries()->set_name("a");
  EXPECT_EQ(refusal(message), "args: the name 'a' is given twice");
}

TEST(Codec, RefusesNestingOver64LevelsBothWays) {
  EXPECT_TRUE(identical(taken(parsed(nested(64))), nested(64)));
  EXPECT_EQ(written(nested(65)).status().message(), "a value is nested deeper than 64 levels");
  v1::Value message;
  v1::Value* innermost = &message;
  for (int i = 0; i < 64; ++i) innermost = innermost->mutable_list()->add_items();
  EXPECT_TRUE(refusal(message).ends_with(": nested deeper than 64 levels")) << refusal(message);
}

TEST(Codec, RefusesToWriteTextThatIsNoUtf8) {
  const Result<grpc::ByteBuffer> bytes = written(List{"fine", "\xff"});
  EXPECT_EQ(bytes.status().reason(), Reason::kInvalidArguments);
  EXPECT_EQ(bytes.status().message(), "text '\\xff' is not UTF-8");
}

}  // namespace
}  // namespace krt::wire
