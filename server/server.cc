#include "server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "server/codna_runtime_service.h"
#include "server/dispatcher.h"
#include "server/health_service.h"
#include "server/kernel_runtime_service.h"
#include "server/listener.h"

namespace krt {
namespace {

// gRPC refuses a message over its limit without saying how to raise it. It is given twice ours, so that what is not
// far over the limit gets our sentence.
int grpc_limit(std::size_t max_message_bytes) {
  return static_cast<int>(std::min(2 * max_message_bytes, std::size_t{INT32_MAX}));
}

// Reflection is gRPC's own service, which takes a thread for each of its streams.
constexpr int kMaxReflectionThreads = 32;
// gRPC ends calls that reach it while it shuts down as CANCELLED, which says nothing. So it is shut down when no call
// has come for a moment, if callers who are told UNAVAILABLE grant one.
constexpr std::chrono::milliseconds kQuiet{50}, kQuietLimit{1000};
// For the last bytes of answers that were given already.
constexpr std::chrono::seconds kFlush{1};

void configure(grpc::ServerBuilder& builder, const ServerOptions& options) {
  builder.SetMaxReceiveMessageSize(grpc_limit(options.max_message_bytes));
  builder.SetMaxSendMessageSize(-1);  // the dispatcher's to refuse
  builder.SetResourceQuota(grpc::ResourceQuota("krt").SetMaxThreads(kMaxReflectionThreads));
  // A few compressed bytes may stand for any number, and gRPC counts them only once they are inflated.
  for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP})
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  // Clients that ping often are served, not sent away.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
}

}  // namespace

class Server::Impl {
 public:
  Impl(RuntimeApi& runtime, const ServerOptions& options, Log log, std::unique_ptr<Listener> listener)
      : options_(options),
        log_(std::move(log)),
        listener_(std::move(listener)),
        dispatcher_(options, log_),
        info_([this](v1::GetInfoResponse& response) { fill_in(response); }),
        codna_(codna_runtime_methods(runtime, options.max_message_bytes), dispatcher_),
        kernels_(kernel_runtime_methods(runtime, info_, options.max_message_bytes), dispatcher_),
        health_({"algenta.runtime.v1.CodnaRuntime", "krt.v1.KernelRuntime"}) {}

  ~Impl() {
    if (grpc_ != nullptr) stop(true);
  }

  bool start() {
    static const bool reflection = (grpc::reflection::InitProtoReflectionServerBuilderPlugin(), true);
    static_cast<void>(reflection);
    grpc::ServerBuilder builder;
    configure(builder, options_);
    builder.RegisterService(&codna_);
    builder.RegisterService(&kernels_);
    builder.RegisterService(&health_);
    using External = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    acceptor_ =
        builder.experimental().AddExternalConnectionAcceptor(External::FROM_FD, grpc::InsecureServerCredentials());
    grpc_ = builder.BuildAndStart();
    if (grpc_ == nullptr) return false;
    listener_->start([this](int fd) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
      connection.listener_fd = listener_->socket();
      connection.fd = fd;
      acceptor_->HandleNewConnection(&connection);
    });
    log_->info("event=start address={} workers={} max_message_bytes={} max_in_flight={} max_in_flight_bytes={}",
               listener_->address(), dispatcher_.workers(), options_.max_message_bytes, options_.max_in_flight,
               options_.max_in_flight_bytes);
    return true;
  }

  // The first caller stops the server; others hurry it up and wait for it.
  bool stop(bool at_once) {
    std::unique_lock lock(mutex_);
    if (std::exchange(stopping_, true)) {
      hurry_ = true;
      changed_.notify_all();
      if (at_once && !stopped_) cancel_calls(lock);
      changed_.wait(lock, [this] { return stopped_; });
      return drained_;
    }
    health_.set_serving(false);
    if (!at_once) {
      log_->info("event=drain lame_duck_ms={} drain_ms={}", options_.lame_duck.count(), options_.drain.count());
      changed_.wait_for(lock, options_.lame_duck, [this] { return hurry_; });
    }
    lock.unlock();
    const bool drained = end_calls(at_once);
    lock.lock();
    drained_ = drained && !cancelled_;
    stopped_ = true;
    changed_.notify_all();
    return drained_;
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_; });
  }

  [[nodiscard]] const Listener& listener() const { return *listener_; }

 private:
  // For the caller who is stopping the server and waits for calls to end.
  void cancel_calls(std::unique_lock<std::mutex>& lock) {
    cancelled_ = true;
    dispatcher_.admission().close();
    lock.unlock();
    grpc_->Shutdown(std::chrono::system_clock::now());
    lock.lock();
  }

  // From here on no call is taken.
  bool end_calls(bool at_once) {
    using SystemClock = std::chrono::system_clock;
    Admission& admission = dispatcher_.admission();
    admission.close();
    const bool drained = admission.wait_idle(Clock::now() + (at_once ? Clock::duration::zero() : options_.drain));
    const std::size_t left = admission.in_flight().count;
    health_.end_watches();
    listener_->stop();
    if (drained && !at_once) admission.wait_quiet(kQuiet, kQuietLimit);
    grpc_->Shutdown(drained ? SystemClock::now() + kFlush : SystemClock::now());
    admission.wait_idle(Clock::time_point::max());
    log_->info("event=stop cancelled_calls={}", drained ? 0 : left);
    return drained;
  }

  void fill_in(v1::GetInfoResponse& response) {
    bool draining = false;
    {
      const std::lock_guard lock(mutex_);
      draining = stopping_;
    }
    response.set_state(draining ? v1::GetInfoResponse::STATE_DRAINING : v1::GetInfoResponse::STATE_SERVING);
    const Admission::InFlight in_flight = dispatcher_.admission().in_flight();
    response.set_in_flight(static_cast<std::int64_t>(in_flight.count));
    response.set_in_flight_bytes(static_cast<std::int64_t>(in_flight.bytes));
    v1::Limits& limits = *response.mutable_limits();
    limits.set_max_message_bytes(static_cast<std::int64_t>(options_.max_message_bytes));
    limits.set_max_in_flight(static_cast<std::int64_t>(options_.max_in_flight));
    limits.set_max_in_flight_bytes(static_cast<std::int64_t>(options_.max_in_flight_bytes));
    limits.set_worker_threads(dispatcher_.workers());
  }

  const ServerOptions options_;
  Log log_;
  std::unique_ptr<Listener> listener_;
  Dispatcher dispatcher_;
  const std::function<void(v1::GetInfoResponse&)> info_;
  MethodService codna_, kernels_;
  HealthService health_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> grpc_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, hurry_ = false, cancelled_ = false, stopped_ = false, drained_ = true;
};

Result<std::unique_ptr<Server>> Server::start(RuntimeApi& runtime, const ServerOptions& options) {
  if (Status bad = check(options); !bad.ok()) return bad;
  Log log = make_log(options.log_level);
  Result<std::unique_ptr<Listener>> listener = Listener::open(options.listen, options.allow_remote, log);
  if (!listener.ok()) return listener.status();
  auto impl = std::make_unique<Impl>(runtime, options, std::move(log), std::move(*listener));
  if (!impl->start()) return Status(Reason::kInternal, "gRPC could not start a server");
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

int Server::port() const { return impl_->listener().port(); }
const std::string& Server::address() const { return impl_->listener().address(); }
bool Server::drain() { return impl_->stop(false); }
void Server::shutdown() { impl_->stop(true); }
void Server::wait() { impl_->wait(); }

}  // namespace krt
