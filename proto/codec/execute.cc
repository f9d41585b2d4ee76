#include "proto/codec/execute.h"

#include "proto/codec/value.h"

namespace krt::wire {
namespace {

using Request = v1::ExecuteRequest;
using Response = v1::ExecuteResponse;

// Fields in reverse order of their numbers: see Writer.

void put_request(Writer& writer, std::string_view module, std::string_view function, const Value& args,
                 std::string_view request_id) {
  if (!request_id.empty()) writer.put_text(Request::kRequestIdFieldNumber, request_id);
  put_value(writer, Request::kArgsFieldNumber, args);
  writer.put_text(Request::kFunctionFieldNumber, function);
  writer.put_text(Request::kModuleFieldNumber, module);
}

void put_response(Writer& writer, const ExecuteResult& r) {
  if (!r.mutated.empty()) put_dict(writer, Response::kMutatedFieldNumber, r.mutated);
  writer.put_text(Response::kEngineUsedFieldNumber, r.engine_used);
  writer.put_double(Response::kLatencyMsFieldNumber, r.latency_ms);
  if (!r.success()) {
    writer.put_text(Response::kErrorFieldNumber, r.error.message());
    writer.put_text(Response::kErrorCodeFieldNumber, name_of(r.error.reason()));
  }
  writer.put_text(Response::kStatusNameFieldNumber, r.status_name);
  if (r.status != 0) writer.put_varint(Response::kStatusFieldNumber, static_cast<std::uint64_t>(r.status));
  put_value(writer, Response::kResultFieldNumber, r.result);
  if (r.success()) writer.put_varint(Response::kSuccessFieldNumber, 1);
  if (!r.request_id.empty()) writer.put_text(Response::kRequestIdFieldNumber, r.request_id);
  writer.put_text(Response::kFunctionFieldNumber, r.function);
  writer.put_text(Response::kModuleFieldNumber, r.module);
}

}  // namespace

Result<grpc::ByteBuffer> encode_request(std::string_view module, std::string_view function, const Value& args,
                                        std::string_view request_id, TensorMemory memory) {
  Writer writer(memory);
  put_request(writer, module, function, args, request_id);
  return writer.finish();
}

Result<grpc::ByteBuffer> encode_batch_request(std::span<const BatchItem> items, TensorMemory memory) {
  Writer writer(memory);
  for (std::size_t i = items.size(); i-- > 0;) {
    const BatchItem& item = items[i];
    writer.put_message(v1::ExecuteBatchRequest::kItemsFieldNumber,
                       [&] { put_request(writer, item.module, item.function, item.args, item.options.request_id); });
  }
  return writer.finish();
}

Result<Value> take_args(v1::ExecuteRequest& request, const std::shared_ptr<const void>& owner) {
  return take_value(*request.mutable_args(), owner, request.module() + "." + request.function() + ": args");
}

Result<grpc::ByteBuffer> encode_response(const ExecuteResult& result) {
  Writer writer(TensorMemory::kShared);
  put_response(writer, result);
  return writer.finish();
}

Result<grpc::ByteBuffer> join_batch_response(std::span<const grpc::ByteBuffer> responses) {
  Writer writer(TensorMemory::kShared);
  for (std::size_t i = responses.size(); i-- > 0;)
    writer.put_message(v1::ExecuteBatchResponse::kResultsFieldNumber, responses[i]);
  return writer.finish();
}

Result<grpc::ByteBuffer> encode_event(const Value& event) {
  Writer writer(TensorMemory::kCopied);
  put_value(writer, v1::GenerateResponse::kEventFieldNumber, event);
  return writer.finish();
}

Result<grpc::ByteBuffer> encode_last(const ExecuteResult& result) {
  Writer writer(TensorMemory::kShared);
  writer.put_message(v1::GenerateResponse::kResultFieldNumber, [&] { put_response(writer, result); });
  return writer.finish();
}

ExecuteResult take_result(v1::ExecuteResponse& response, const std::shared_ptr<const void>& owner) {
  ExecuteResult r;
  r.module = response.module();
  r.function = response.function();
  r.request_id = response.request_id();
  r.status = response.status();
  r.status_name = response.status_name();
  r.latency_ms = response.latency_ms();
  r.engine_used = response.engine_used();
  if (!response.success()) {
    r.error = {reason_named(response.error_code()), response.error()};
    return r;
  }
  Result<Value> result = take_value(*response.mutable_result(), owner, "the server's result");
  Result<Dict> mutated = take_dict(*response.mutable_mutated(), owner, "the server's changed arguments");
  if (result.ok() && mutated.ok()) {
    r.result = std::move(*result);
    r.mutated = std::move(*mutated);
  } else {
    r.error = {Reason::kInternal, (result.ok() ? mutated.status() : result.status()).message()};
  }
  return r;
}

}  // namespace krt::wire
