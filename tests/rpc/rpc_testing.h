#pragma once
// A server on a free port of loopback with test kernels, and what its tests need to steer them.

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include "client/cpp/remote_runtime.h"
#include "krt/v1/kernel_runtime.grpc.pb.h"
#include "runtime/registry/module_builder.h"
#include "runtime/runtime.h"
#include "server/server.h"

namespace krt::testing {

// Where the kernel `t.block` stops until it is let through or cancelled.
class Gate {
 public:
  // As after start-up: closed, nobody seen.
  void reset() {
    const std::lock_guard lock(mutex_);
    entered_ = 0;
    open_ = false;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_entered(int n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entered_ >= n; });
  }
  int entered() {
    const std::lock_guard lock(mutex_);
    return entered_;
  }

  // The kernel's side. `control` has no way to wake anybody, so that it is looked at every millisecond.
  Status pass(const CallControl& control) {
    std::unique_lock lock(mutex_);
    ++entered_;
    changed_.notify_all();
    while (!changed_.wait_for(lock, std::chrono::milliseconds(1), [&] { return open_; }))
      if (Status stop = control.check(); !stop.ok()) return stop;
    return {};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int entered_ = 0;
  bool open_ = false;
};
inline Gate gate;
inline std::atomic<int> runs{0};  // of `t.count`

inline Result<std::int64_t> block(Context& context, std::span<const std::uint8_t> /*payload*/) {
  if (Status stop = gate.pass(context.control); !stop.ok()) return stop;
  return std::int64_t{1};
}
inline std::int64_t count() { return ++runs; }
// Emits n texts of `bytes` bytes, then answers how many were taken.
inline Result<std::int64_t> tell(Context& context, std::int64_t n, std::int64_t bytes) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (Status stop = context.control.check(); !stop.ok()) return stop;
    context.emit(std::to_string(i) + std::string(static_cast<std::size_t>(bytes), 'x'));
    ++runs;
  }
  return n;
}
inline Value echo(const Value& x) { return x; }
inline std::vector<double> ones(std::int64_t n) { return std::vector<double>(static_cast<std::size_t>(n), 1.0); }
inline std::string bad_text() { return "\xff"; }
inline std::int64_t throws() { throw std::runtime_error("a kernel's own exception"); }
inline std::int64_t double_all(std::span<double> x) {
  for (double& v : x) v *= 2;
  return std::ssize(x);
}
struct Doubled {
  std::vector<double> x;
  std::int64_t status;
  static constexpr std::array kFields{"x", "status"};
};
inline Doubled double_both(std::span<double> x, std::span<double> y) {
  double_all(y);
  double_all(x);
  return {{x.begin(), x.end()}, 7};
}
inline constexpr StatusEntry kTestStatuses[] = {{7, "t_ok", "it went well"}};

inline Registry test_registry() {
  Registry registry;
  ModuleBuilder m(registry, "t", "Test kernels");
  m.function<block>("block", "Waits for the gate", {{"payload", "bytes that count"}}).example("[[]]");
  m.function<count>("count", "Counts its calls").example("[]");
  m.function<tell>("tell", "Emits texts", {{"n", "how many"}, {"bytes", "bytes of each"}}).example("[1,0]");
  m.function<echo>("echo", "Its argument", {{"x", "anything"}}).example("[1]");
  m.function<ones>("ones", "That many ones", {{"n", "how many"}}).example("[3]");
  m.function<bad_text>("bad_text", "A string that is no UTF-8").example("[]");
  m.function<throws>("throws", "An exception").example("[]");
  m.function<double_all>("double_all", "Doubles in place", {{"x", "changed in place"}}).example("[[1,2]]");
  m.function<double_both>("double_both", "Doubles in place", {{"x", "changed in place"}, {"y", "changed in place"}})
      .statuses(kTestStatuses)
      .example("[[1,2],[3]]");
  return registry;
}

inline ServerOptions quiet_options() {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.lame_duck = std::chrono::milliseconds(0);
  options.log_level = "off";
  return options;
}

// Until so many calls have arrived at the server and are not yet answered.
inline void wait_in_flight(const std::string& address, int n) {
  const auto stub = v1::KernelRuntime::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  v1::GetInfoResponse info;
  do {
    grpc::ClientContext context;
    const grpc::Status status = stub->GetInfo(&context, v1::GetInfoRequest(), &info);
    if (!status.ok()) throw std::runtime_error(status.error_message());
  } while (info.in_flight() != n);
}

struct Served {
  explicit Served(const ServerOptions& options = quiet_options(), Registry registry = test_registry())
      : runtime(std::move(registry)), server(start(options)), remote(remote_options()) {
    gate.reset();
    runs = 0;
  }
  std::unique_ptr<Server> start(const ServerOptions& options) {
    Result<std::unique_ptr<Server>> started = Server::start(runtime, options);
    if (!started.ok()) throw std::runtime_error(started.status().message());
    return std::move(*started);
  }
  [[nodiscard]] RemoteOptions remote_options() const {
    RemoteOptions options;
    options.address = server->address();
    return options;
  }
  void wait_in_flight(int n) const { testing::wait_in_flight(server->address(), n); }
  // A call from another thread.
  std::future<ExecuteResult> in_background(const char* function, Value args = {}, CallOptions options = {}) {
    return std::async(std::launch::async, [this, function, args = std::move(args), options = std::move(options)] {
      return remote.execute("t", function, args, options);
    });
  }

  Runtime runtime;
  std::unique_ptr<Server> server;
  RemoteRuntime remote;
};

inline Value payload(std::size_t bytes) { return *Tensor::zeros(DType::kU8, Shape{static_cast<std::int64_t>(bytes)}); }

}  // namespace krt::testing
