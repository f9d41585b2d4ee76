// Deadlines, cancellation, overload and stopping.

#include <thread>

#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/rpc/raw_call.h"
#include "tests/rpc/rpc_testing.h"

namespace krt::testing {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

ServerOptions one_worker() {
  ServerOptions options = quiet_options();
  options.worker_threads = 1;
  return options;
}

std::unique_ptr<grpc::health::v1::Health::Stub> health_of(const Server& server) {
  return grpc::health::v1::Health::NewStub(grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
}

HealthCheckResponse::ServingStatus health_now(const Server& server, const std::string& service = "") {
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service(service);
  HealthCheckResponse response;
  const grpc::Status status = health_of(server)->Check(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.status();
}

// A stream of the server's health, from before to after it stops.
class Watch {
 public:
  explicit Watch(const Server& server) : stub_(health_of(server)), stream_(stub_->Watch(&context_, {})) {}
  HealthCheckResponse::ServingStatus next() {
    HealthCheckResponse response;
    return stream_->Read(&response) ? response.status() : HealthCheckResponse::UNKNOWN;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::health::v1::Health::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> stream_;
};

CallOptions due_in(std::chrono::milliseconds time) {
  CallOptions options;
  options.control.deadline = Clock::now() + time;
  return options;
}

TEST(Deadline, ACallWhoseDeadlinePassesInTheQueueNeverRuns) {
  Served served(one_worker());
  auto blocked = served.in_background("block", List{payload(1)});
  gate.wait_entered(1);
  const ExecuteResult late = served.remote.execute("t", "count", {}, due_in(std::chrono::milliseconds(20)));
  EXPECT_EQ(late.error.reason(), Reason::kDeadlineExceeded) << late.error.message();
  served.wait_in_flight(1);  // the server has seen the deadline too
  gate.open();
  EXPECT_TRUE(blocked.get().success());
  EXPECT_TRUE(served.remote.execute("t", "count").success());
  EXPECT_EQ(runs, 1);
}

TEST(Deadline, ReachesTheKernel) {
  Served served;
  const ExecuteResult r = served.remote.execute("t", "block", List{payload(1)}, due_in(std::chrono::milliseconds(20)));
  EXPECT_EQ(r.error.reason(), Reason::kDeadlineExceeded);
  EXPECT_EQ(served.remote.execute("t", "count", {}, due_in(std::chrono::milliseconds(-1))).error.message(),
            "the deadline passed");
  EXPECT_EQ(runs, 0);
}

TEST(Cancel, ACancelledCallNeverRunsAndARunningOneIsTold) {
  Served served(one_worker());
  std::atomic<bool> cancel_running{false}, cancel_queued{false};
  const auto until = [](const std::atomic<bool>& flag) {
    CallOptions options;
    options.control.cancelled = &flag;
    return options;
  };
  auto running = served.in_background("block", List{payload(1)}, until(cancel_running));
  gate.wait_entered(1);
  auto queued = served.in_background("count", {}, until(cancel_queued));
  served.wait_in_flight(2);
  cancel_queued = true;
  EXPECT_EQ(queued.get().error.reason(), Reason::kCancelled);
  served.wait_in_flight(1);  // it left the queue at once
  cancel_running = true;
  EXPECT_EQ(running.get().error.reason(), Reason::kCancelled);
  EXPECT_TRUE(served.remote.execute("t", "count").success());  // the gate was never opened
  EXPECT_EQ(runs, 1);
}

TEST(Overload, IsAnsweredAtOnceWhileHealthAndInventoryAnswer) {
  ServerOptions options = one_worker();
  options.max_in_flight = 2;
  Served served(options);
  auto running = served.in_background("block", List{payload(1)});
  gate.wait_entered(1);
  auto queued = served.in_background("block", List{payload(1)});
  served.wait_in_flight(2);
  const ExecuteResult refused = served.remote.execute("t", "count");
  EXPECT_EQ(refused.error.reason(), Reason::kResourceExhausted);
  EXPECT_EQ(refused.error.message(), "2 calls are in flight, the server's limit (max_in_flight); try again later");
  EXPECT_EQ(health_now(*served.server), HealthCheckResponse::SERVING);
  EXPECT_TRUE(served.remote.health()->ok);
  EXPECT_EQ(served.remote.list_modules()->size(), 1U);
  EXPECT_TRUE(served.remote.describe("t", "echo").ok());
  gate.open();
  EXPECT_TRUE(running.get().success());
  EXPECT_TRUE(queued.get().success());
  EXPECT_EQ(runs, 0);
}

TEST(Overload, OfBytesNamesThatLimit) {
  ServerOptions options = one_worker();
  options.max_message_bytes = 1 << 20;
  options.max_in_flight_bytes = 1 << 20;
  Served served(options);
  auto running = served.in_background("block", List{payload(600000)});
  gate.wait_entered(1);
  const ExecuteResult refused = served.remote.execute("t", "echo", payload(600000));
  EXPECT_EQ(refused.error.reason(), Reason::kResourceExhausted);
  EXPECT_NE(refused.error.message().find("limit of 1048576 bytes in flight (max_in_flight_bytes)"), std::string::npos)
      << refused.error.message();
  gate.open();
  EXPECT_TRUE(running.get().success());
  served.wait_in_flight(0);
  EXPECT_TRUE(served.remote.execute("t", "echo", payload(600000)).success());
}

TEST(Overload, AFullQueueNamesThatLimit) {
  ServerOptions options = one_worker();
  options.max_queued = 1;
  Served served(options);
  auto running = served.in_background("block", List{payload(1)});
  gate.wait_entered(1);
  auto queued = served.in_background("block", List{payload(1)});
  served.wait_in_flight(2);
  const ExecuteResult refused = served.remote.execute("t", "count");
  EXPECT_EQ(refused.error.message(), "the server's queue is full (max_queued); try again later");
  gate.open();
  EXPECT_TRUE(running.get().success());
}

TEST(Health, KnowsTheServices) {
  Served served;
  EXPECT_EQ(health_now(*served.server, "krt.v1.KernelRuntime"), HealthCheckResponse::SERVING);
  EXPECT_EQ(health_now(*served.server, "algenta.runtime.v1.CodnaRuntime"), HealthCheckResponse::SERVING);
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service("nope");
  HealthCheckResponse response;
  EXPECT_EQ(health_of(*served.server)->Check(&context, request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(Drain, ByStages) {
  ServerOptions options = one_worker();
  options.lame_duck = std::chrono::hours(1);
  Served served(options);
  Watch watch(*served.server);
  EXPECT_EQ(watch.next(), HealthCheckResponse::SERVING);
  auto running = served.in_background("block", List{payload(1)});
  gate.wait_entered(1);

  auto drained = std::async(std::launch::async, [&] { return served.server->drain(); });
  EXPECT_EQ(watch.next(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(served.remote.health()->ok);
  auto taken = served.in_background("count");  // in the lame-duck time calls are still taken
  served.wait_in_flight(2);

  // A second request ends that time; from some moment on, new calls are refused while the old ones still run.
  auto hurried = std::async(std::launch::async, [&] { return served.server->drain(); });
  ExecuteResult refused;
  do {
    refused = served.remote.execute("t", "echo", {}, due_in(std::chrono::milliseconds(50)));
  } while (refused.error.reason() == Reason::kDeadlineExceeded);
  EXPECT_EQ(refused.error.reason(), Reason::kRuntimeUnavailable);
  EXPECT_EQ(refused.error.message(), "the server is shutting down and takes no new calls");

  gate.open();
  EXPECT_TRUE(running.get().success());
  EXPECT_TRUE(taken.get().success());
  EXPECT_TRUE(drained.get());
  EXPECT_TRUE(hurried.get());
  EXPECT_EQ(watch.next(), HealthCheckResponse::UNKNOWN) << "the stream has ended";
  EXPECT_EQ(served.remote.execute("t", "echo").error.reason(), Reason::kRuntimeUnavailable);
}

TEST(Drain, CancelsWhatDoesNotEndInTime) {
  ServerOptions options = one_worker();
  options.drain = std::chrono::milliseconds(1);
  Served served(options);
  auto running = served.in_background("block", List{payload(1)});
  gate.wait_entered(1);
  EXPECT_FALSE(served.server->drain());
  EXPECT_EQ(running.get().error.reason(), Reason::kRuntimeUnavailable);
}

TEST(Drain, ShutdownHurriesADrainThatWaits) {
  Served served(one_worker());
  auto running = served.in_background("block", List{payload(1)});
  gate.wait_entered(1);
  auto drained = std::async(std::launch::async, [&] { return served.server->drain(); });
  served.server->shutdown();
  EXPECT_FALSE(drained.get());
  EXPECT_FALSE(running.get().success());
}

TEST(Drain, UnderLoadLosesNoAnswer) {
  Served served;
  constexpr int kClients = 8, kEnough = 50;
  std::atomic<int> answered{0}, odd{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      RemoteRuntime remote(served.remote_options());
      while (true) {
        const ExecuteResult r = remote.execute("t", "count");
        if (!r.success()) {
          odd += r.error.reason() == Reason::kRuntimeUnavailable ? 0 : 1;
          return;
        }
        answered += 1;
        answered.notify_all();
      }
    });
  }
  for (int seen = 0; seen < kEnough; seen = answered) answered.wait(seen);
  EXPECT_TRUE(served.server->drain());
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(odd, 0);
  EXPECT_EQ(answered, runs) << "every call that ran was answered";
}

TEST(Reflection, ListsTheServices) {
  Served served;
  grpc::GenericStub stub(grpc::CreateChannel(served.server->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  auto stream = stub.PrepareCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  stream->StartCall(nullptr);
  ASSERT_TRUE(done());
  stream->Write(to_buffer("\x3a\x01*"), nullptr);  // list_services
  ASSERT_TRUE(done());
  grpc::ByteBuffer response;
  stream->Read(&response, nullptr);
  ASSERT_TRUE(done());
  const std::string text = to_string(response);
  for (const char* service : {"krt.v1.KernelRuntime", "algenta.runtime.v1.CodnaRuntime", "grpc.health.v1.Health"})
    EXPECT_NE(text.find(service), std::string::npos) << service;
  context.TryCancel();
  grpc::Status status;
  stream->Finish(&status, nullptr);
  done();
}

}  // namespace
}  // namespace krt::testing
