#include "client/cpp/channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>

#include "proto/codec/execute.h"
#include "proto/codec/status.h"
#include "proto/codec/value.h"

namespace krt {
namespace {

// How soon a call notices that its caller cancelled it.
constexpr std::chrono::milliseconds kCancelPoll{5};
// A server that was restarted is found again soon.
constexpr int kFirstReconnectMs = 100, kLastReconnectMs = 2000;
// How long one attempt may take, handshake included: on a busy machine 100 ms were not enough for loopback. gRPC calls
// it the minimal backoff, but a refused attempt ends at once and is repeated after the times above.
constexpr int kConnectMs = 5000;

std::shared_ptr<grpc::Channel> connect_to(const RemoteOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  arguments.SetMaxSendMessageSize(-1);  // refused before it is sent, in a sentence
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLastReconnectMs);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments);
}

// Until the one operation that was started is complete: whether it succeeded. On the way, tells gRPC when the caller
// cancels.
bool wait_for(grpc::CompletionQueue& queue, grpc::ClientContext& context, const CallControl& control) {
  void* tag = nullptr;
  bool ok = false;
  bool told = control.cancelled == nullptr;
  while (!told) {
    told = control.cancelled->load(std::memory_order_relaxed);
    if (told) context.TryCancel();
    const auto soon = std::chrono::system_clock::now() + kCancelPoll;
    if (queue.AsyncNext(&tag, &ok, soon) != grpc::CompletionQueue::TIMEOUT) return ok;
  }
  queue.Next(&tag, &ok);
  return ok;
}

std::string full_name(const char* method) { return std::string("/krt.v1.KernelRuntime/") + method; }

}  // namespace

RemoteRuntime::Channel::Channel(const RemoteOptions& options)
    : address_(options.address), max_message_bytes_(options.max_message_bytes), stub_(connect_to(options)) {}

Status RemoteRuntime::Channel::check(const grpc::ByteBuffer& request, const CallControl& control) const {
  if (Status stop = control.check(); !stop.ok()) return stop;
  if (request.Length() <= max_message_bytes_) return {};
  return {Reason::kResourceExhausted, "a request of " + std::to_string(request.Length()) +
                                          " bytes is over the client's limit of " + std::to_string(max_message_bytes_) +
                                          " bytes for one message; put large values once and name them by " +
                                          "handle, or raise max_message_bytes on both ends"};
}

Result<grpc::ByteBuffer> RemoteRuntime::Channel::call(const char* method, const grpc::ByteBuffer& request,
                                                      const CallControl& control) {
  if (Status refused = check(request, control); !refused.ok()) return refused;
  grpc::ClientContext context;
  context.set_deadline(wire::to_system(control.deadline));
  grpc::CompletionQueue queue;
  auto rpc = stub_.PrepareUnaryCall(&context, full_name(method), request, &queue);
  rpc->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  rpc->Finish(&response, &status, this);
  wait_for(queue, context, control);
  if (!status.ok()) return ended_with(status, context, control);
  return response;
}

Status RemoteRuntime::Channel::stream(const char* method, const grpc::ByteBuffer& request, const CallControl& control,
                                      const std::function<Status(const grpc::ByteBuffer& message)>& take) {
  if (Status refused = check(request, control); !refused.ok()) return refused;
  grpc::ClientContext context;
  context.set_deadline(wire::to_system(control.deadline));
  grpc::CompletionQueue queue;
  auto rpc = stub_.PrepareCall(&context, full_name(method), &queue);
  Status taken;
  bool going = true;
  const auto wait = [&] { going = wait_for(queue, context, control); };
  rpc->StartCall(this);
  wait();
  if (going) {
    rpc->WriteLast(request, {}, this);
    wait();
  }
  while (going) {
    grpc::ByteBuffer message;
    rpc->Read(&message, this);
    wait();
    if (going && taken.ok()) taken = take(message);
    if (!taken.ok()) context.TryCancel();
  }
  grpc::Status status;
  rpc->Finish(&status, this);
  wait();
  if (!taken.ok()) return taken;
  return status.ok() ? Status() : ended_with(status, context, control);
}

Result<ExecuteResult> RemoteRuntime::Channel::execute(const grpc::ByteBuffer& request, const CallOptions& options) {
  auto response = call<v1::ExecuteResponse>("Execute", request, options.control);
  if (!response.ok()) return response.status();
  return wire::take_result(**response, *response);
}

Result<ExecuteResult> RemoteRuntime::Channel::generate(const grpc::ByteBuffer& request, const CallOptions& options) {
  Result<ExecuteResult> result = Status(Reason::kInternal, "the server's events ended without a result");
  const Status ended = stream("Generate", request, options.control, [&](const grpc::ByteBuffer& bytes) {
    auto message = parse<v1::GenerateResponse>("Generate", bytes);
    if (!message.ok()) return message.status();
    v1::GenerateResponse& m = **message;
    if (m.has_result()) {
      result = wire::take_result(*m.mutable_result(), *message);
      return Status();
    }
    Result<Value> event = wire::take_value(*m.mutable_event(), *message, "the server's event");
    if (!event.ok()) return event.status();
    try {
      options.on_event(*event);
    } catch (const StatusError& e) {  // ends the call, as in a local runtime
      return e.status();
    }
    return Status();
  });
  if (!ended.ok()) return ended;
  return result;
}

Status RemoteRuntime::Channel::ended_with(const grpc::Status& status, const grpc::ClientContext& context,
                                          const CallControl& control) const {
  const bool ours = control.cancelled != nullptr && control.cancelled->load(std::memory_order_relaxed);
  if (status.error_code() == grpc::StatusCode::CANCELLED && !ours)
    return {Reason::kRuntimeUnavailable, "the server at " + address_ + " was stopped and ended the call"};
  return wire::from_grpc(status, context, address_);
}

Status RemoteRuntime::Channel::malformed(const char* method) const {
  return {Reason::kInternal, "the answer of " + address_ + " to " + method + " is malformed"};
}

}  // namespace krt
