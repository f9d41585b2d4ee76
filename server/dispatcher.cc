#include "server/dispatcher.h"

#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace krt {
namespace {

int worker_count(const ServerOptions& options) {
  if (options.worker_threads > 0) return options.worker_threads;
  return std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
}

Status within(std::size_t limit, std::string_view what, std::size_t bytes) {
  if (bytes <= limit) return {};
  return {Reason::kResourceExhausted, std::string(what) + " of " + std::to_string(bytes) +
                                          " bytes is over the server's limit of " + std::to_string(limit) +
                                          " bytes for one message; put large values once and name them by handle, or " +
                                          "raise max_message_bytes (krt serve --max-message-bytes)"};
}

double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

}  // namespace

// One call, from its arrival to its answer's departure.
template <class Reactor>
class Dispatcher::Call : public Reactor, public Work {
 public:
  Call(Dispatcher& dispatcher, const Method& method, grpc::CallbackServerContext& context,
       const grpc::ByteBuffer& request)
      : dispatcher_(dispatcher), context_(context), method_(method), bytes_(request.Length()) {
    // gRPC gives the buffer to this call alone; taking it lets its memory go as soon as it is parsed.
    request_.Swap(const_cast<grpc::ByteBuffer*>(&request));
    control_.deadline = wire::from_system(context.deadline());
    control_.cancelled = &cancelled_;
  }

  // Answers the call, or has it answered later.
  void start() {
    Admission& admission = dispatcher_.admission_;
    Status refused = within(dispatcher_.max_message_bytes_, "a request", bytes_);
    if (refused.ok() && method_.lane == Lane::kQueued) {
      refused = admission.enter(bytes_);
      admitted_ = refused.ok();
    }
    if (!admitted_) admission.enter_free();
    if (!refused.ok()) return refuse(refused);
    if (method_.lane == Lane::kInline) return run();
    if (!dispatcher_.queue_.push(this))
      refuse({Reason::kResourceExhausted, "the server's queue is full (max_queued); try again later"});
  }

  void run() override {
    started_ = Clock::now();
    if (Status stop = control_.check(); !stop.ok())
      return refuse({stop.reason(), stop.message() + " before the call was started"});
    finish(answer(method_, request_, control_, send_));
  }

  // The caller gave up, or its deadline passed. A call that still waits leaves the queue at once, and its place with
  // it.
  void OnCancel() override {
    cancelled_.store(true, std::memory_order_relaxed);
    if (dispatcher_.queue_.remove(this)) refuse({Reason::kCancelled, "the call was given up before it was started"});
  }

  void OnDone() override {
    Admission& admission = dispatcher_.admission_;
    const bool admitted = admitted_;
    const std::size_t bytes = bytes_;
    delete this;
    // Last: the server may be gone once nothing is in flight.
    if (admitted)
      admission.leave(bytes);
    else
      admission.leave_free();
  }

 protected:
  // Hands the reply to gRPC.
  virtual void deliver(Reply reply) = 0;

  Dispatcher& dispatcher_;
  grpc::CallbackServerContext& context_;
  Send send_;

 private:
  void refuse(const Status& status) { finish(Reply(status)); }

  // Exactly once. The call may be gone afterwards.
  void finish(Reply reply) {
    const std::size_t size = reply.response.Length();
    if (reply.status.ok())
      if (Status bad = within(dispatcher_.max_message_bytes_, "the response", size); !bad.ok()) reply = Reply(bad);
    if (reply.status.ok() && admitted_) {
      dispatcher_.admission_.add(size);
      bytes_ += size;
    }
    if (reply.reason != Reason::kNone)
      context_.AddTrailingMetadata(wire::kReasonKey, std::string(name_of(reply.reason)));
    log(reply, size);
    deliver(std::move(reply));
  }

  void log(const Reply& reply, std::size_t size) const {
    if (!dispatcher_.log_->should_log(spdlog::level::debug)) return;
    const Clock::time_point now = Clock::now(), started = std::max(started_, arrived_);
    dispatcher_.log_->debug(
        "event=call method={} peer={} code={} reason={} response_bytes={} queued_ms={:.3f} ran_ms={:.3f} {}",
        method_.name, context_.peer(), static_cast<int>(reply.status.error_code()), name_of(reply.reason), size,
        milliseconds(started - arrived_), milliseconds(now - started), reply.note);
  }

  const Method& method_;
  grpc::ByteBuffer request_;
  std::size_t bytes_;  // that admission counts for this call
  bool admitted_ = false;
  std::atomic<bool> cancelled_{false};
  CallControl control_;
  const Clock::time_point arrived_ = Clock::now();
  Clock::time_point started_ = {};
};

class Dispatcher::UnaryCall final : public Call<grpc::ServerUnaryReactor> {
 public:
  UnaryCall(Dispatcher& dispatcher, const Method& method, grpc::CallbackServerContext& context,
            const grpc::ByteBuffer& request, grpc::ByteBuffer& response)
      : Call(dispatcher, method, context, request), response_(response) {}

 private:
  void deliver(Reply reply) override {
    if (reply.status.ok()) response_.Swap(&reply.response);
    Finish(std::move(reply.status));
  }

  grpc::ByteBuffer& response_;
};

// One message is on its way while the method computes the next.
class Dispatcher::StreamCall final : public Call<grpc::ServerWriteReactor<grpc::ByteBuffer>> {
 public:
  StreamCall(Dispatcher& dispatcher, const Method& method, grpc::CallbackServerContext& context,
             const grpc::ByteBuffer& request)
      : Call(dispatcher, method, context, request) {
    send_ = [this](const grpc::ByteBuffer& message) { send(message); };
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    broken_ = !ok;
    written_.notify_all();
  }

 private:
  void send(const grpc::ByteBuffer& message) {
    if (Status bad = within(dispatcher_.max_message_bytes_, "an event", message.Length()); !bad.ok())
      throw StatusError(std::move(bad));
    if (!wait_written()) throw StatusError({Reason::kCancelled, "nobody reads the events"});
    writing_ = true;
    message_ = message;
    StartWrite(&message_);
  }

  // Until the message on its way has left; false where the caller is gone, or did not read for too long.
  bool wait_written() {
    const auto left = [this] { return !writing_; };
    std::unique_lock lock(mutex_);
    if (!written_.wait_for(lock, dispatcher_.max_stall_, left)) context_.TryCancel();  // which ends the write
    written_.wait(lock, left);
    return !broken_;
  }

  void deliver(Reply reply) override {
    if (!wait_written()) return Finish({grpc::StatusCode::CANCELLED, "nobody reads the events"});
    if (!reply.status.ok()) return Finish(std::move(reply.status));
    message_.Swap(&reply.response);
    StartWriteAndFinish(&message_, {}, grpc::Status::OK);
  }

  std::mutex mutex_;
  std::condition_variable written_;
  bool writing_ = false, broken_ = false;
  grpc::ByteBuffer message_;  // on its way
};

Dispatcher::Dispatcher(const ServerOptions& options, Log log)
    : max_message_bytes_(options.max_message_bytes),
      max_stall_(options.max_stall),
      log_(std::move(log)),
      admission_(options.max_in_flight, options.max_in_flight_bytes),
      queue_(worker_count(options), options.max_queued) {}

grpc::ServerUnaryReactor* Dispatcher::accept(const Method& method, grpc::CallbackServerContext& context,
                                             const grpc::ByteBuffer& request, grpc::ByteBuffer& response) {
  auto* call = new UnaryCall(*this, method, context, request, response);
  call->start();
  return call;  // not gone yet: gRPC is told of it only now, and calls OnDone after that
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* Dispatcher::accept(const Method& method,
                                                               grpc::CallbackServerContext& context,
                                                               const grpc::ByteBuffer& request) {
  auto* call = new StreamCall(*this, method, context, request);
  call->start();
  return call;
}

MethodService::MethodService(std::vector<Method> methods, Dispatcher& dispatcher) : methods_(std::move(methods)) {
  // What the generated WithRawCallbackMethod_* classes do, for every method of the table.
  using grpc::internal::CallbackServerStreamingHandler;
  using grpc::internal::CallbackUnaryHandler;
  using grpc::internal::MethodHandler;
  using grpc::internal::RpcMethod;
  using grpc::internal::RpcServiceMethod;
  using Bytes = grpc::ByteBuffer;
  using Context = grpc::CallbackServerContext;
  for (std::size_t i = 0; i < methods_.size(); ++i) {
    const Method& method = methods_[i];
    MethodHandler* handler = nullptr;
    if (method.streams)
      handler = new CallbackServerStreamingHandler<Bytes, Bytes>(
          [&method, &dispatcher](Context* context, const Bytes* request) {
            return dispatcher.accept(method, *context, *request);
          });
    else
      handler = new CallbackUnaryHandler<Bytes, Bytes>(
          [&method, &dispatcher](Context* context, const Bytes* request, Bytes* response) {
            return dispatcher.accept(method, *context, *request, *response);
          });
    const auto type = method.streams ? RpcMethod::SERVER_STREAMING : RpcMethod::NORMAL_RPC;
    AddMethod(new RpcServiceMethod(method.name.c_str(), type, nullptr));
    MarkMethodRawCallback(static_cast<int>(i), handler);
  }
}

}  // namespace krt
