// What is wrong with a call is answered promptly, in a sentence; the server lives and other callers notice nothing.

#include <google/protobuf/io/coded_stream.h>

#include "algenta_runtime.pb.h"
#include "krt/v1/kernel_runtime.pb.h"
#include "proto/codec/value.h"
#include "tests/rpc/raw_call.h"
#include "tests/rpc/rpc_testing.h"

namespace krt::testing {
namespace {

constexpr char kExecute[] = "/krt.v1.KernelRuntime/Execute";
constexpr char kExecuteModule[] = "/algenta.runtime.v1.CodnaRuntime/ExecuteModule";

// A request for t.echo of `levels` values, each in a list in the one before; written from the inside out, because
// message classes would recurse.
std::string nested_request(int levels) {
  std::string reversed;
  const auto enclose = [&](char tag) {
    std::uint8_t length[5];
    using google::protobuf::io::CodedOutputStream;
    const auto* end = CodedOutputStream::WriteVarint32ToArray(static_cast<std::uint32_t>(reversed.size()), length);
    while (end != length) reversed += static_cast<char>(*--end);
    reversed += tag;
  };
  for (int i = 1; i < levels; ++i) {
    enclose('\x0a');  // List.items
    enclose('\x3a');  // Value.list
  }
  enclose('\x1a');  // ExecuteRequest.args
  v1::ExecuteRequest request;
  request.set_module("t");
  request.set_function("echo");
  return request.SerializeAsString() + std::string(reversed.rbegin(), reversed.rend());
}

class BadInput : public ::testing::Test {
 protected:
  RawAnswer call(const std::string& method, const std::string& bytes) {
    return raw_call(served_.server->address(), method, bytes);
  }
  v1::ExecuteResponse execute(const v1::ExecuteRequest& request) {
    v1::ExecuteResponse response;
    const RawAnswer answer = call(kExecute, request.SerializeAsString());
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_TRUE(response.ParseFromString(answer.bytes));
    return response;
  }
  void TearDown() override { EXPECT_TRUE(served_.remote.execute("t", "echo", 1).success()) << "the server lives"; }

  Served served_;
};

TEST_F(BadInput, BytesThatAreNoMessage) {
  using namespace std::string_literals;
  for (const std::string& bytes : {"\x0b"s, "\xff\xff\xff"s, "\x0a\x05x"s, "\x1a\x02\x3a\x01"s, "\x00\x01"s}) {
    const RawAnswer answer = call(kExecute, bytes);
    EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(answer.status.error_message().ends_with(": malformed bytes")) << answer.status.error_message();
    EXPECT_EQ(answer.reason, "invalid_arguments");
  }
}

TEST_F(BadInput, TextThatIsNoUtf8) {
  const struct {
    const char* method;
    std::string bytes;
    const char* text;
  } cases[] = {
      {kExecute, "\x0a\x01\xff", "field krt.v1.ExecuteRequest.module is not UTF-8: '\\xff'"},
      {kExecute, "\x1a\x04\x2a\x02\xC0\x80", "field krt.v1.Value.string_value is not UTF-8: '\\xc0\\x80'"},
      {kExecuteModule, "\x1a\x01\xff", "field algenta.runtime.v1.ExecuteRequest.args_json is not UTF-8: '\\xff'"},
      {"/krt.v1.KernelRuntime/Describe", "\x12\x01\x80", "field krt.v1.DescribeRequest.function is not UTF-8: '\\x80'"},
  };
  for (const auto& c : cases) {
    const RawAnswer answer = call(c.method, c.bytes);
    EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(answer.status.error_message(), c.text);
  }
}

TEST_F(BadInput, NestingThatNoValueMayHave) {
  const auto says_too_deep = [&](int levels) {
    const RawAnswer answer = call(kExecute, nested_request(levels));
    v1::ExecuteResponse response;
    EXPECT_TRUE(response.ParseFromString(answer.bytes));
    return (response.error() + answer.status.error_message()).find("nested deeper than 64") != std::string::npos;
  };
  EXPECT_FALSE(says_too_deep(40));  // more, and protobuf's own parser gives up on the answer
  for (const int levels : {65, 90, 1000, 1'000'000}) EXPECT_TRUE(says_too_deep(levels)) << levels;
}

TEST_F(BadInput, TensorsThatContradictThemselves) {
  const std::int64_t huge = std::int64_t{1} << 62U;
  const struct {
    int dtype;
    std::vector<std::int64_t> shape;
    std::size_t bytes;
    const char* text;
  } cases[] = {
      {v1::DTYPE_F64, {3}, 23, "t.echo: args[0]: a tensor f64[3] has 24 bytes, got 23"},
      {v1::DTYPE_F64,
       {huge, 4},
       8,
       "t.echo: args[0]: the product of shape [4611686018427387904,4] does not fit 63 bits"},
      {v1::DTYPE_F64, {huge}, 8, "t.echo: args[0]: shape [4611686018427387904] of f64 does not fit 63 bits of bytes"},
      {v1::DTYPE_F64, {-3}, 24, "t.echo: args[0]: dimension 0 is negative: -3"},
      {99, {1}, 8, "t.echo: args[0]: dtype 99 is not known"},
  };
  for (const auto& c : cases) {
    v1::ExecuteRequest request;
    request.set_module("t");
    request.set_function("echo");
    request.set_request_id("an id");
    v1::Tensor& tensor = *request.mutable_args()->mutable_list()->add_items()->mutable_tensor();
    tensor.set_dtype(static_cast<v1::DType>(c.dtype));
    tensor.mutable_shape()->Assign(c.shape.begin(), c.shape.end());
    tensor.set_data(std::string(c.bytes, '\0'));
    const v1::ExecuteResponse response = execute(request);
    EXPECT_FALSE(response.success());
    EXPECT_EQ(response.error_code(), "invalid_arguments");
    EXPECT_EQ(response.error(), c.text);
    EXPECT_EQ(response.request_id(), "an id");
  }
}

TEST_F(BadInput, AWrongItemOfABatchSpoilsNoOther) {
  v1::ExecuteBatchRequest batch;
  for (int i = 0; i < 3; ++i) {
    batch.add_items()->set_module("t");
    batch.mutable_items(i)->set_function("echo");
    batch.mutable_items(i)->mutable_args()->set_int_value(i);
  }
  batch.mutable_items(1)->mutable_args()->mutable_tensor();
  v1::ExecuteBatchResponse response;
  ASSERT_TRUE(response.ParseFromString(call("/krt.v1.KernelRuntime/ExecuteBatch", batch.SerializeAsString()).bytes));
  ASSERT_EQ(response.results_size(), 3);
  EXPECT_TRUE(response.results(0).success());
  EXPECT_EQ(response.results(1).error(), "t.echo: args: dtype 0 is not known");
  EXPECT_EQ(response.results(2).result().int_value(), 2);
}

TEST_F(BadInput, AResultThatCannotBeSent) {
  const ExecuteResult r = served_.remote.execute("t", "bad_text");
  EXPECT_EQ(r.error.reason(), Reason::kInternal);
  EXPECT_EQ(r.error.message(), "t.bad_text: the result cannot be sent: text '\\xff' is not UTF-8");
}

TEST_F(BadInput, WhatAClientCannotSend) {
  const ExecuteResult text = served_.remote.execute("t", "echo", "\xff");
  EXPECT_EQ(text.error.reason(), Reason::kInvalidArguments);
  EXPECT_EQ(text.error.message(), "text '\\xff' is not UTF-8");
  Value deep = 1;
  for (int i = 0; i < 64; ++i) deep = List{deep};
  EXPECT_EQ(served_.remote.execute("t", "echo", deep).error.message(), "a value is nested deeper than 64 levels");
  EXPECT_EQ(served_.remote.put("\xff").status().reason(), Reason::kInvalidArguments);
}

TEST_F(BadInput, AnExceptionOfAKernelIsAnAnswer) {
  const ExecuteResult r = served_.remote.execute("t", "throws");
  EXPECT_EQ(r.error.reason(), Reason::kInternal);
  EXPECT_EQ(r.error.message(), "t.throws: a kernel's own exception");
}

TEST_F(BadInput, ACompressedMessageIsRefused) {
  v1::ExecuteRequest request;
  request.set_module(std::string(100000, 'x'));
  const RawAnswer answer =
      raw_call(served_.server->address(), kExecute, request.SerializeAsString(), GRPC_COMPRESS_GZIP);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

class Limits : public ::testing::Test {
 protected:
  static constexpr std::size_t kLimit = 65536;
  static ServerOptions options() {
    ServerOptions o = quiet_options();
    o.max_message_bytes = kLimit;
    return o;
  }
  Served served_{options()};
};

TEST_F(Limits, ARequestOverTheServersLimitNamesItAndHowToRaiseIt) {
  const ExecuteResult fits = served_.remote.execute("t", "block", Dict{{"payload", 1}});
  EXPECT_EQ(fits.error.reason(), Reason::kInvalidArguments);
  const ExecuteResult over = served_.remote.execute("t", "block", List{payload(kLimit)});
  EXPECT_EQ(over.error.reason(), Reason::kResourceExhausted);
  EXPECT_NE(over.error.message().find("is over the server's limit of 65536 bytes for one message"), std::string::npos);
  EXPECT_NE(over.error.message().find("raise max_message_bytes"), std::string::npos);
  // So far over it that gRPC itself refuses.
  const ExecuteResult far = served_.remote.execute("t", "block", List{payload(100 * kLimit)});
  EXPECT_EQ(far.error.reason(), Reason::kResourceExhausted) << far.error.message();
  EXPECT_EQ(gate.entered(), 0);
}

TEST_F(Limits, AResponseOverTheServersLimitNamesItToo) {
  EXPECT_TRUE(served_.remote.execute("t", "ones", 8000).success());
  const ExecuteResult over = served_.remote.execute("t", "ones", 8192);
  EXPECT_EQ(over.error.reason(), Reason::kResourceExhausted);
  EXPECT_TRUE(over.error.message().starts_with("the response of ")) << over.error.message();
  EXPECT_NE(over.error.message().find("limit of 65536 bytes"), std::string::npos);
}

TEST_F(Limits, AResultThatABatchHasNoRoomForSpoilsNoOther) {
  const std::vector<BatchItem> items = {
      {"t", "ones", 4000}, {"t", "ones", 5000}, {"t", "ones", 100}, {"t", "ones", 9000}, {"t", "ones", 3000}};
  const std::vector<ExecuteResult> r = served_.remote.execute_batch(items);
  ASSERT_EQ(r.size(), items.size());
  for (const std::size_t fits : {0U, 2U, 4U}) {
    ASSERT_TRUE(r[fits].success()) << r[fits].error.message();
    EXPECT_TRUE(identical(r[fits].result, served_.remote.execute("t", "ones", items[fits].args).result));
  }
  for (const std::size_t over : {1U, 3U}) {
    EXPECT_EQ(r[over].error.reason(), Reason::kResourceExhausted);
    EXPECT_TRUE(r[over].error.message().starts_with(
        "t.ones: with this result the batch's response would be over the server's limit of 65536 bytes"))
        << r[over].error.message();
  }
}

TEST_F(Limits, ATextOfAResultOverTheServersLimit) {
  algenta::runtime::v1::ExecuteRequest request;
  request.set_module("t");
  request.set_function("ones");
  const auto ones = [&](int n) {
    request.set_args_json(std::to_string(n));
    return raw_call(served_.server->address(), kExecuteModule, request.SerializeAsString());
  };
  EXPECT_TRUE(ones(16000).status.ok());  // "1.0," each
  const RawAnswer over = ones(100'000);
  EXPECT_EQ(over.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(over.status.error_message(),
            "t.ones: the result: as JSON it is over the limit of 65536 bytes; raise max_message_bytes (krt serve "
            "--max-message-bytes)");
}

TEST_F(Limits, TheClientHasALimitOfItsOwn) {
  RemoteOptions options = served_.remote_options();
  options.max_message_bytes = 10000;
  RemoteRuntime remote(options);
  const ExecuteResult sent = remote.execute("t", "block", List{payload(20000)});
  EXPECT_EQ(sent.error.reason(), Reason::kResourceExhausted);
  EXPECT_NE(sent.error.message().find("is over the client's limit of 10000 bytes"), std::string::npos);
  const ExecuteResult received = remote.execute("t", "ones", 8000);
  EXPECT_EQ(received.error.reason(), Reason::kResourceExhausted);
  EXPECT_NE(received.error.message().find("max_message_bytes"), std::string::npos) << received.error.message();
}

TEST(Options, AreChecked) {
  const struct {
    void (*set)(ServerOptions&);
    const char* text;
  } cases[] = {
      {[](ServerOptions& o) { o.listen = "nonsense"; }, "'nonsense' is no address to listen on; one reads HOST:PORT"},
      {[](ServerOptions& o) { o.listen = "127.0.0.1:65536"; },
       "'127.0.0.1:65536' is no address to listen on; one reads HOST:PORT"},
      {[](ServerOptions& o) { o.listen = "0.0.0.0:0"; },
       "0.0.0.0:0 can be reached from other machines, and nothing on the wire is encrypted or authenticated; set "
       "allow_remote (krt serve --allow-remote) if that is meant"},
      {[](ServerOptions& o) { o.max_message_bytes = 1; }, "max_message_bytes must be from 4096 to 1073741824"},
      {[](ServerOptions& o) { o.max_in_flight_bytes = 4096; },
       "max_in_flight_bytes must be at least max_message_bytes, or the largest message could never be served"},
      {[](ServerOptions& o) { o.log_level = "loud"; }, "log_level must be one of trace, debug, info, warn, error, off"},
  };
  Runtime runtime(test_registry());
  for (const auto& c : cases) {
    ServerOptions options = quiet_options();
    c.set(options);
    EXPECT_EQ(Server::start(runtime, options).status().message(), c.text);
  }
  ServerOptions open = quiet_options();
  open.listen = "0.0.0.0:0";
  open.allow_remote = true;
  EXPECT_TRUE(Server::start(runtime, open).ok());
}

TEST(Options, APortInUseIsRefusedAndSaysSo) {
  Served first;
  ServerOptions options = quiet_options();
  options.listen = first.server->address();
  Result<std::unique_ptr<Server>> second = Server::start(first.runtime, options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().reason(), Reason::kFailedPrecondition);
  EXPECT_EQ(second.status().message(), "cannot listen on " + first.server->address() +
                                           ": Address already in use; another server runs there, choose another port "
                                           "or stop it");
  EXPECT_TRUE(first.remote.execute("t", "echo", 1).success());
}

}  // namespace
}  // namespace krt::testing
