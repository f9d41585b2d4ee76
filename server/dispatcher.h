#pragma once
// Dispatcher: between gRPC's threads and the methods. Every call gets exactly one answer:
//
//   gRPC thread: over the message limit, or not admitted  -> RESOURCE_EXHAUSTED, UNAVAILABLE
//                inline method                            -> its answer
//                queue full                               -> RESOURCE_EXHAUSTED
//   worker:      cancelled, or deadline passed in the queue -> CANCELLED, DEADLINE_EXCEEDED; the method does not run
//                else                                     -> its answer; over the message limit RESOURCE_EXHAUSTED
//                a stream that nobody reads for max_stall -> CANCELLED

#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/server_callback.h>

#include <vector>

#include "server/admission.h"
#include "server/log.h"
#include "server/method.h"
#include "server/options.h"
#include "server/work_queue.h"

namespace krt {

class Dispatcher {
 public:
  Dispatcher(const ServerOptions& options, Log log);

  grpc::ServerUnaryReactor* accept(const Method& method, grpc::CallbackServerContext& context,
                                   const grpc::ByteBuffer& request, grpc::ByteBuffer& response);
  // The same for a method that streams.
  grpc::ServerWriteReactor<grpc::ByteBuffer>* accept(const Method& method, grpc::CallbackServerContext& context,
                                                     const grpc::ByteBuffer& request);

  [[nodiscard]] Admission& admission() { return admission_; }
  [[nodiscard]] int workers() const { return queue_.threads(); }

 private:
  template <class Reactor>
  class Call;
  class UnaryCall;
  class StreamCall;

  const std::size_t max_message_bytes_;
  const std::chrono::milliseconds max_stall_;
  Log log_;
  Admission admission_;
  WorkQueue queue_;
};

// A gRPC service out of a table of methods. They get and give raw bytes, so that what is wrong with a request can be
// answered in a sentence.
class MethodService final : public grpc::Service {
 public:
  MethodService(std::vector<Method> methods, Dispatcher& dispatcher);

 private:
  const std::vector<Method> methods_;
};

}  // namespace krt
