#pragma once
// Method: one remote call as a function from bytes to bytes. Services are tables of them, which the dispatcher serves
// and a fuzzer can call without a network.

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <concepts>
#include <functional>
#include <string>

#include "proto/codec/message.h"
#include "proto/codec/status.h"
#include "runtime/exec/context.h"

namespace krt {

// What a method answers: a response, or a gRPC status that is not OK.
struct Reply {
  Reply(const grpc::ByteBuffer& response) : response(response) {}  // a copy shares the bytes
  Reply(const google::protobuf::Message& response) : response(wire::serialize(response)) {}
  Reply(const Status& failure) : status(wire::to_grpc(failure)), reason(failure.reason()) {}
  Reply(grpc::Status failure) : status(std::move(failure)) {}
  template <class T>
  Reply(Result<T> result) : Reply(result.ok() ? Reply(std::move(result).value()) : Reply(result.status())) {}

  grpc::Status status;
  Reason reason = Reason::kNone;  // goes with the status as krt-reason
  grpc::ByteBuffer response;
  std::string note = {};  // key=value pairs for the log
};

enum class Lane {
  kInline,  // answered in gRPC's own thread, whatever else goes on: cheap and never blocking
  kQueued,  // admitted or refused, then answered by a worker
};

// Sends one message of a stream, as soon as the one before it has left; the last one is the reply. Throws StatusError
// where nobody takes it.
using Send = std::function<void(const grpc::ByteBuffer& message)>;

struct Method {
  std::string name;  // "/krt.v1.KernelRuntime/Execute"
  Lane lane;
  bool streams;  // its response is a stream; a method of Lane::kQueued
  // Takes the request's bytes out of `request`. May throw. Only a method that streams looks at `send`.
  std::function<Reply(grpc::ByteBuffer& request, const CallControl& control, const Send& send)> answer;
};

// A method whose `answer(std::shared_ptr<Request>, const CallControl&)` gets the request parsed and checked; with a
// third parameter `const Send&` it streams.
template <class Request, class Answer>
Method make_method(std::string name, Lane lane, Answer answer) {
  constexpr bool kStreams = std::invocable<Answer, std::shared_ptr<Request>, const CallControl&, const Send&>;
  return {std::move(name), lane, kStreams,
          [answer = std::move(answer)](grpc::ByteBuffer& bytes, const CallControl& control, const Send& send) -> Reply {
            Result<std::shared_ptr<Request>> request = wire::checked_parse<Request>(bytes);
            if (!request.ok()) return request.status();
            bytes.Clear();
            if constexpr (kStreams)
              return answer(std::move(*request), control, send);
            else
              return answer(std::move(*request), control);
          }};
}

// The same with every exception caught: out of memory is resource_exhausted, anything else internal.
Reply answer(const Method& method, grpc::ByteBuffer& request, const CallControl& control, const Send& send = {});

}  // namespace krt
