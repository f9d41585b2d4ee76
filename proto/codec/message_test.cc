#include "proto/codec/message.h"

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "krt/v1/kernel_runtime.pb.h"
#include "runtime/testing/random.h"

namespace krt::wire {
namespace {

using testing::Rng;

grpc::ByteBuffer bytes_of(std::string_view text, std::size_t slice = SIZE_MAX) {
  std::vector<grpc::Slice> slices;
  for (; !text.empty(); text.remove_prefix(std::min(slice, text.size())))
    slices.emplace_back(text.data(), std::min(slice, text.size()));
  return {slices.data(), slices.size()};
}

Status checked(std::string_view text, std::size_t slice = SIZE_MAX) {
  return check(bytes_of(text, slice), *v1::ExecuteRequest::descriptor());
}

v1::ExecuteRequest request() {
  v1::ExecuteRequest r;
  r.set_module("m");
  r.set_function("f");
  r.set_request_id("\xE2\x82\xAC");
  r.mutable_args()->mutable_list()->add_items()->mutable_tensor()->mutable_shape()->Add(3);
  r.mutable_args()->mutable_list()->add_items()->mutable_dict()->add_entries()->set_name("n");
  return r;
}

TEST(Check, AcceptsWhatIsWellFormedHoweverItIsSliced) {
  const std::string text = request().SerializeAsString();
  for (std::size_t slice = 1; slice <= text.size(); ++slice) EXPECT_TRUE(checked(text, slice).ok()) << slice;
  EXPECT_TRUE(checked("").ok());
  EXPECT_TRUE(checked("\x08\x01").ok()) << "a field of another type is unknown, and skipped";
}

TEST(Check, NamesTheFieldThatIsNoUtf8) {
  const struct {
    std::string bytes;
    const char* text;
  } cases[] = {
      {"\x0a\x01\xff", "field krt.v1.ExecuteRequest.module is not UTF-8: '\\xff'"},
      {"\x22\x03"
       "a\xC0\x80",
       "field krt.v1.ExecuteRequest.request_id is not UTF-8: 'a\\xc0\\x80'"},
      {"\x1a\x03\x2a\x01\x80", "field krt.v1.Value.string_value is not UTF-8: '\\x80'"},
  };
  for (const auto& c : cases)
    for (const std::size_t slice : {1U, 2U, 100U}) EXPECT_EQ(checked(c.bytes, slice).message(), c.text);
}

TEST(Check, RefusesEveryTruncation) {
  v1::ExecuteRequest whole;
  *whole.mutable_args() = request().args();
  const std::string text = whole.SerializeAsString();
  for (std::size_t n = 1; n < text.size(); ++n)
    EXPECT_TRUE(checked(text.substr(0, n)).message().ends_with(": malformed bytes")) << n;
}

TEST(Check, RefusesMalformedBytes) {
  using namespace std::string_literals;
  for (const std::string& bytes : {"\x0b"s, "\x0c"s, "\x07"s, "\x00"s, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,
                                   "\x0a\xff\xff\xff\xff\x0f"s, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s})
    EXPECT_EQ(checked(bytes).reason(), Reason::kInvalidArguments) << ::testing::PrintToString(bytes);
}

std::string nested_lists(int levels) {
  v1::ExecuteRequest r;
  v1::Value* value = r.mutable_args();
  for (int i = 0; i < levels; ++i) value = value->mutable_list()->add_items();
  return r.SerializeAsString();
}

TEST(Check, RefusesDepthThatNoValueMayHave) {
  EXPECT_TRUE(checked(nested_lists(64)).ok());
  EXPECT_EQ(checked(nested_lists(100)).message(), "krt.v1.Value: nested deeper than 64 values");
  EXPECT_EQ(checked(nested_lists(5000)).reason(), Reason::kInvalidArguments);
}

TEST(Check, RefusesMoreItemsThanMemoryShouldHold) {
  v1::ExecuteRequest many;
  for (std::size_t i = 0; i < kMaxMessageItems; ++i) many.mutable_args()->mutable_list()->add_items();
  EXPECT_NE(checked(many.SerializeAsString()).message().find("the request holds more than 1048576 items"),
            std::string::npos);
  v1::ExecuteRequest wide;
  wide.mutable_args()->mutable_tensor()->mutable_shape()->Resize(static_cast<int>(kMaxMessageItems) + 1, 1);
  EXPECT_EQ(checked(wide.SerializeAsString()).reason(), Reason::kInvalidArguments);
}

// Whatever the bytes: an answer, and nothing is refused that the parser takes.
TEST(Check, RefusesNothingThatTheParserTakes) {
  Rng rng(20261130);
  SCOPED_TRACE(rng.trace());
  const std::string good = request().SerializeAsString();
  const google::protobuf::LogSilencer silent;  // the parser reports bad UTF-8 to standard error
  int taken = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int k = 0; k < 2; ++k)
      bytes[static_cast<std::size_t>(rng.integer(0, std::ssize(bytes) - 1))] = static_cast<char>(rng.integer(0, 255));
    const bool fine = checked(bytes).ok();
    v1::ExecuteRequest message;
    const bool parsed = fine && parse(bytes_of(bytes), message);
    taken += parsed ? 1 : 0;
    EXPECT_EQ(parsed, message.ParseFromString(bytes)) << ::testing::PrintToString(bytes);
  }
  EXPECT_GT(taken, 100);
  EXPECT_LT(taken, 20000);
}

TEST(Serialize, IsWhatParseReads) {
  v1::ExecuteRequest back;
  ASSERT_TRUE(parse(serialize(request()), back));
  EXPECT_EQ(back.SerializeAsString(), request().SerializeAsString());
  EXPECT_TRUE(parse(grpc::ByteBuffer(), back));
  EXPECT_EQ(back.ByteSizeLong(), 0U);
}

}  // namespace
}  // namespace krt::wire
