#pragma once
// The messages of Execute and ExecuteBatch, both ways.

#include <grpcpp/support/byte_buffer.h>

#include "krt/v1/kernel_runtime.pb.h"
#include "proto/codec/writer.h"
#include "runtime/api.h"

namespace krt::wire {

// Requests. What cannot be sent (text that is no UTF-8, nesting over 64) is invalid_arguments.
Result<grpc::ByteBuffer> encode_request(std::string_view module, std::string_view function, const Value& args,
                                        std::string_view request_id, TensorMemory memory);
Result<grpc::ByteBuffer> encode_batch_request(std::span<const BatchItem> items, TensorMemory memory);

// The args of a request; its strings stay where they are. `owner` keeps `request` alive.
Result<Value> take_args(v1::ExecuteRequest& request, const std::shared_ptr<const void>& owner);

// The messages of Generate's stream.
Result<grpc::ByteBuffer> encode_event(const Value& event);
Result<grpc::ByteBuffer> encode_last(const ExecuteResult& result);

// Responses. Tensors are shared with the message, so that their bytes must not change until it was sent.
Result<grpc::ByteBuffer> encode_response(const ExecuteResult& result);
// Of the responses of its items, as encode_response makes them.
Result<grpc::ByteBuffer> join_batch_response(std::span<const grpc::ByteBuffer> responses);

ExecuteResult take_result(v1::ExecuteResponse& response, const std::shared_ptr<const void>& owner);

}  // namespace krt::wire
