#include "server/dispatcher.h"

#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <spdlog/spdlog.h>

#include <algorithm>
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
class Dispatcher::Call final : public grpc::ServerUnaryReactor, public Work {
 public:
  Call(Dispatcher& dispatcher, const Method& method, grpc::CallbackServerContext& context,
       const grpc::ByteBuffer& request, grpc::ByteBuffer& response)
      : dispatcher_(dispatcher), method_(method), context_(context), response_(response), bytes_(request.Length()) {
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
    finish(answer(method_, request_, control_));
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

 private:
  void refuse(const Status& status) { finish(Reply(status)); }

  // Exactly once. The call may be gone afterwards.
  void finish(Reply reply) {
    const std::size_t size = reply.response.Length();
    if (reply.status.ok())
      if (Status bad = within(dispatcher_.max_message_bytes_, "the response", size); !bad.ok()) reply = Reply(bad);
    if (reply.status.ok()) hold(reply.response);
    if (reply.reason != Reason::kNone)
      context_.AddTrailingMetadata(wire::kReasonKey, std::string(name_of(reply.reason)));
    log(reply, size);
    Finish(std::move(reply.status));
  }

  void hold(grpc::ByteBuffer& response) {
    const std::size_t size = response.Length();
    response_.Swap(&response);
    if (!admitted_) return;
    dispatcher_.admission_.add(size);
    bytes_ += size;
  }

  void log(const Reply& reply, std::size_t size) const {
    if (!dispatcher_.log_->should_log(spdlog::level::debug)) return;
    const Clock::time_point now = Clock::now(), started = std::max(started_, arrived_);
    dispatcher_.log_->debug(
        "event=call method={} peer={} code={} reason={} response_bytes={} queued_ms={:.3f} ran_ms={:.3f} {}",
        method_.name, context_.peer(), static_cast<int>(reply.status.error_code()), name_of(reply.reason), size,
        milliseconds(started - arrived_), milliseconds(now - started), reply.note);
  }

  Dispatcher& dispatcher_;
  const Method& method_;
  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer& response_;
  std::size_t bytes_;  // that admission counts for this call
  bool admitted_ = false;
  std::atomic<bool> cancelled_{false};
  CallControl control_;
  const Clock::time_point arrived_ = Clock::now();
  Clock::time_point started_ = {};
};

Dispatcher::Dispatcher(const ServerOptions& options, Log log)
    : max_message_bytes_(options.max_message_bytes),
      log_(std::move(log)),
      admission_(options.max_in_flight, options.max_in_flight_bytes),
      queue_(worker_count(options), options.max_queued) {}

grpc::ServerUnaryReactor* Dispatcher::accept(const Method& method, grpc::CallbackServerContext& context,
                                             const grpc::ByteBuffer& request, grpc::ByteBuffer& response) {
  auto* call = new Call(*this, method, context, request, response);
  call->start();
  return call;  // not gone yet: gRPC is told of it only now, and calls OnDone after that
}

MethodService::MethodService(std::vector<Method> methods, Dispatcher& dispatcher) : methods_(std::move(methods)) {
  // What the generated WithRawCallbackMethod_* classes do, for every method of the table.
  using grpc::internal::CallbackUnaryHandler;
  using grpc::internal::RpcMethod;
  using grpc::internal::RpcServiceMethod;
  for (std::size_t i = 0; i < methods_.size(); ++i) {
    const Method& method = methods_[i];
    AddMethod(new RpcServiceMethod(method.name.c_str(), RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRawCallback(static_cast<int>(i),
                          new CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                              [&method, &dispatcher](grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
                                return dispatcher.accept(method, *context, *request, *response);
                              }));
  }
}

}  // namespace krt
