#include "client/cpp/channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>

#include "proto/codec/status.h"

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

// Until the call's one completion is there; on the way, tells gRPC when the caller cancels.
void wait_for(grpc::CompletionQueue& queue, grpc::ClientContext& context, const CallControl& control) {
  void* tag = nullptr;
  bool ok = false;
  bool told = control.cancelled == nullptr;
  while (!told) {
    const auto soon = std::chrono::system_clock::now() + kCancelPoll;
    if (queue.AsyncNext(&tag, &ok, soon) != grpc::CompletionQueue::TIMEOUT) return;
    if (!control.cancelled->load(std::memory_order_relaxed)) continue;
    context.TryCancel();
    told = true;
  }
  queue.Next(&tag, &ok);
}

}  // namespace

RemoteRuntime::Channel::Channel(const RemoteOptions& options)
    : address_(options.address), max_message_bytes_(options.max_message_bytes), stub_(connect_to(options)) {}

Result<grpc::ByteBuffer> RemoteRuntime::Channel::call(const char* method, const grpc::ByteBuffer& request,
                                                      const CallControl& control) {
  if (Status stop = control.check(); !stop.ok()) return stop;
  if (request.Length() > max_message_bytes_)
    return Status(Reason::kResourceExhausted,
                  "a request of " + std::to_string(request.Length()) + " bytes is over the client's limit of " +
                      std::to_string(max_message_bytes_) + " bytes for one message; put large values once and name " +
                      "them by handle, or raise max_message_bytes on both ends");
  grpc::ClientContext context;
  context.set_deadline(wire::to_system(control.deadline));
  grpc::CompletionQueue queue;
  auto rpc = stub_.PrepareUnaryCall(&context, std::string("/krt.v1.KernelRuntime/") + method, request, &queue);
  rpc->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  rpc->Finish(&response, &status, this);
  wait_for(queue, context, control);
  if (!status.ok()) return ended_with(status, context, control);
  return response;
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
