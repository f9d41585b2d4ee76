#pragma once
// RemoteRuntime::Channel: calls of krt.v1.KernelRuntime, raw or as messages.

#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>

#include <functional>

#include "client/cpp/remote_runtime.h"
#include "proto/codec/message.h"

namespace krt {

class RemoteRuntime::Channel {
 public:
  explicit Channel(const RemoteOptions& options);

  // The response's bytes. `method` is a name such as "Execute".
  Result<grpc::ByteBuffer> call(const char* method, const grpc::ByteBuffer& request, const CallControl& control);

  // The same for a method that answers in a stream. What `take` cannot take ends the call.
  Status stream(const char* method, const grpc::ByteBuffer& request, const CallControl& control,
                const std::function<Status(const grpc::ByteBuffer& message)>& take);

  // Requests as wire::encode_request makes them. generate() hands the events to options.on_event.
  Result<ExecuteResult> execute(const grpc::ByteBuffer& request, const CallOptions& options);
  Result<ExecuteResult> generate(const grpc::ByteBuffer& request, const CallOptions& options);

  template <class Response>
  Result<std::shared_ptr<Response>> call(const char* method, const grpc::ByteBuffer& request,
                                         const CallControl& control) {
    Result<grpc::ByteBuffer> bytes = call(method, request, control);
    if (!bytes.ok()) return bytes.status();
    return parse<Response>(method, *bytes);
  }
  template <class Response>
  Result<std::shared_ptr<Response>> parse(const char* method, const grpc::ByteBuffer& bytes) const {
    auto response = std::make_shared<Response>();
    if (!wire::parse(bytes, *response)) return malformed(method);
    return response;
  }
  template <class Response>
  Result<std::shared_ptr<Response>> call(const char* method, const google::protobuf::Message& request,
                                         const CallControl& control) {
    return call<Response>(method, wire::serialize(request), control);
  }

 private:
  [[nodiscard]] Status check(const grpc::ByteBuffer& request, const CallControl& control) const;
  [[nodiscard]] Status ended_with(const grpc::Status& status, const grpc::ClientContext& context,
                                  const CallControl& control) const;
  [[nodiscard]] Status malformed(const char* method) const;

  const std::string address_;
  const std::size_t max_message_bytes_;
  grpc::GenericStub stub_;
};

}  // namespace krt
