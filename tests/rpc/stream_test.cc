// Generate: events while the function runs, at the speed of their reader, then the result.

#include "tests/rpc/rpc_testing.h"

namespace krt::testing {
namespace {

constexpr std::int64_t kEndless = INT64_MAX;

CallOptions listening(List& events) {
  CallOptions options;
  options.request_id = "s-1";
  options.on_event = [&events](const Value& event) { events.push_back(event); };
  return options;
}

TEST(Stream, EventsAndResultAreThoseOfTheLocalRuntime) {
  Served served;
  List local, remote;
  const ExecuteResult here = served.runtime.execute("t", "tell", List{100, 3}, listening(local));
  const ExecuteResult there = served.remote.execute("t", "tell", List{100, 3}, listening(remote));
  EXPECT_EQ(local.size(), 100U);
  EXPECT_TRUE(identical(local, remote));
  EXPECT_TRUE(identical(there.result, 100));
  EXPECT_TRUE(identical(here.result, there.result));
  EXPECT_EQ(there.request_id, "s-1");
}

TEST(Stream, WithoutAListenerExecuteAnswersTheSame) {
  Served served;
  EXPECT_TRUE(identical(served.remote.execute("t", "tell", List{100, 3}).result, 100));
}

TEST(Stream, FailuresAreAnswersAsElsewhere) {
  Served served;
  List events;
  const ExecuteResult arity = served.remote.execute("t", "tell", List{1}, listening(events));
  EXPECT_EQ(arity.error.reason(), Reason::kInvalidArguments);
  EXPECT_EQ(arity.error.message(), "t.tell: argument 'bytes' is missing; it takes (n, bytes)");
  EXPECT_EQ(served.remote.execute("t", "nope", {}, listening(events)).error.reason(), Reason::kFunctionNotRegistered);
  EXPECT_EQ(served.remote.execute("t", "bad_text", {}, listening(events)).error.reason(), Reason::kInternal);
  EXPECT_TRUE(events.empty());
}

TEST(Stream, EndsWhenItsListenerCancels) {
  Served served;
  std::atomic<bool> cancelled = false;
  CallOptions options;
  options.control.cancelled = &cancelled;
  int seen = 0;
  options.on_event = [&](const Value&) {
    if (++seen == 3) cancelled = true;
  };
  EXPECT_EQ(served.remote.execute("t", "tell", List{kEndless, 0}, options).error.reason(), Reason::kCancelled);
  served.wait_in_flight(0);
}

TEST(Stream, WhatItsListenerThrowsIsTheAnswer) {
  Served served;
  CallOptions options;
  options.on_event = [](const Value&) { throw StatusError({Reason::kFailedPrecondition, "enough"}); };
  for (RuntimeApi* runtime : {static_cast<RuntimeApi*>(&served.runtime), static_cast<RuntimeApi*>(&served.remote)})
    EXPECT_EQ(runtime->execute("t", "tell", List{kEndless, 0}, options).error.reason(), Reason::kFailedPrecondition);
  served.wait_in_flight(0);
}

TEST(Stream, EndsAtItsDeadline) {
  Served served;
  List events;
  CallOptions options = listening(events);
  options.control.deadline = Clock::now() + std::chrono::milliseconds(50);
  EXPECT_EQ(served.remote.execute("t", "tell", List{kEndless, 0}, options).error.reason(), Reason::kDeadlineExceeded);
  served.wait_in_flight(0);
}

// A client that takes one event and then no other.
struct SlowReader {
  explicit SlowReader(const Served& served, std::int64_t event_bytes)
      : stub(v1::KernelRuntime::NewStub(
            grpc::CreateChannel(served.server->address(), grpc::InsecureChannelCredentials()))) {
    v1::ExecuteRequest request;
    request.set_module("t");
    request.set_function("tell");
    for (const std::int64_t arg : {kEndless, event_bytes})
      request.mutable_args()->mutable_list()->add_items()->set_int_value(arg);
    stream = stub->Generate(&context, request);
    EXPECT_TRUE(stream->Read(&response));
  }
  std::unique_ptr<v1::KernelRuntime::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::GenerateResponse>> stream;
  v1::GenerateResponse response;
};

TEST(Stream, WaitsForASlowReaderAndEndsWhenItLeaves) {
  Served served;
  {
    SlowReader reader(served, 1 << 20);
    for (int read = 2; read <= 50; ++read) {
      ASSERT_TRUE(reader.stream->Read(&reader.response));
      EXPECT_LT(runs - read, 64) << "between server and client there is room for some MiB and no more";
    }
    EXPECT_TRUE(served.remote.execute("t", "echo", 1).success()) << "another caller notices nothing";
    reader.context.TryCancel();
    EXPECT_EQ(reader.stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  served.wait_in_flight(0);
}

TEST(Stream, AReaderThatStopsIsGivenUp) {
  ServerOptions options = quiet_options();
  options.max_stall = std::chrono::milliseconds(20);
  Served served(options);
  SlowReader reader(served, 1 << 20);
  served.wait_in_flight(0);
}

TEST(Stream, AnEventOverTheLimitIsRefusedByName) {
  ServerOptions options = quiet_options();
  options.max_message_bytes = 1 << 16;
  Served served(options);
  List events;
  const ExecuteResult r = served.remote.execute("t", "tell", List{1, 1 << 17}, listening(events));
  EXPECT_EQ(r.error.reason(), Reason::kResourceExhausted);
  EXPECT_NE(r.error.message().find("an event of 131"), std::string::npos) << r.error.message();
}

}  // namespace
}  // namespace krt::testing
