#include "server/kernel_runtime_service.h"

#include "proto/codec/execute.h"
#include "proto/codec/value.h"

namespace krt {
namespace {

template <class Request>
using Answer = Reply (*)(RuntimeApi&, const std::shared_ptr<Request>&, const CallControl&);

// What there was no time to finish ends the call as gRPC has it; every other failure is an answer.
bool ends_call(Reason reason) { return reason == Reason::kDeadlineExceeded || reason == Reason::kCancelled; }

ExecuteResult run(RuntimeApi& runtime, v1::ExecuteRequest& request, const std::shared_ptr<const void>& owner,
                  const CallControl& control, EventSink on_event = {}) {
  Result<Value> args = wire::take_args(request, owner);
  if (!args.ok())
    return {.module = request.module(),
            .function = request.function(),
            .request_id = request.request_id(),
            .error = args.status()};
  return runtime.execute(request.module(), request.function(), *args,
                         {request.request_id(), control, true, std::move(on_event)});
}

std::string note_of(const ExecuteResult& r) {
  return "module=" + quoted(r.module) + " function=" + quoted(r.function) + " request_id=" + quoted(r.request_id) +
         " success=" + (r.success() ? "true" : "false") + " error_code=" + std::string(name_of(r.error.reason()));
}

using Encode = Result<grpc::ByteBuffer> (*)(const ExecuteResult&);

// The failed result that stands for `r`.
ExecuteResult instead_of(const ExecuteResult& r, Reason reason, const std::string& why) {
  return {.module = r.module,
          .function = r.function,
          .request_id = r.request_id,
          .error = {reason, r.module + "." + r.function + ": " + why}};
}

Result<grpc::ByteBuffer> encoded(ExecuteResult& r, Encode encode) {
  Result<grpc::ByteBuffer> response = encode(r);
  if (response.ok()) return response;
  r = instead_of(r, Reason::kInternal, "the result cannot be sent: " + response.status().message());
  return encode(r);
}

Reply reply_with(ExecuteResult r, Encode encode) {
  if (ends_call(r.error.reason())) return r.error;
  Reply reply(encoded(r, encode));
  reply.note = note_of(r);
  return reply;
}

Reply execute(RuntimeApi& runtime, const std::shared_ptr<v1::ExecuteRequest>& request, const CallControl& control) {
  return reply_with(run(runtime, *request, request, control), wire::encode_response);
}

Reply generate(RuntimeApi& runtime, const std::shared_ptr<v1::ExecuteRequest>& request, const CallControl& control,
               const Send& send) {
  const auto on_event = [&](const Value& event) {
    Result<grpc::ByteBuffer> message = wire::encode_event(event);
    if (!message.ok()) throw StatusError(message.status());
    send(*message);
  };
  return reply_with(run(runtime, *request, request, control, on_event), wire::encode_last);
}

// Each result is encoded, and measured, before the next one is computed: a few calls of a large result each must not
// take the server's memory.
Reply execute_batch(RuntimeApi& runtime, const std::shared_ptr<v1::ExecuteBatchRequest>& request,
                    const CallControl& control, std::size_t max_bytes) {
  std::vector<grpc::ByteBuffer> results;
  results.reserve(static_cast<std::size_t>(request->items_size()));
  std::size_t bytes = 0;
  for (v1::ExecuteRequest& item : *request->mutable_items()) {
    ExecuteResult r = run(runtime, item, request, control);
    if (ends_call(r.error.reason())) return r.error;
    Result<grpc::ByteBuffer> result = encoded(r, wire::encode_response);
    if (result.ok() && bytes + result->Length() > max_bytes)
      result = wire::encode_response(
          instead_of(r, Reason::kResourceExhausted,
                     "with this result the batch's response would be over the server's limit of " +
                         std::to_string(max_bytes) + " bytes for one message; call it on its own, or raise " +
                         "max_message_bytes (krt serve --max-message-bytes)"));
    if (!result.ok()) return result.status();
    bytes += result->Length();
    results.push_back(std::move(*result));
  }
  Reply reply(wire::join_batch_response(results));
  reply.note = "items=" + std::to_string(results.size());
  return reply;
}

Reply get_info(RuntimeApi& runtime, const std::function<void(v1::GetInfoResponse&)>& info) {
  Result<Health> health = runtime.health();
  if (!health.ok()) return health.status();
  Result<std::vector<ModuleInfo>> modules = runtime.list_modules();
  if (!modules.ok()) return modules.status();
  v1::GetInfoResponse response;
  response.set_version(health->version);
  response.set_engine(health->engine);
  response.set_uptime_seconds(health->uptime_seconds);
  response.set_module_count(static_cast<int>(modules->size()));
  int functions = 0;
  for (const ModuleInfo& m : *modules) functions += static_cast<int>(m.functions.size());
  response.set_function_count(functions);
  info(response);
  return response;
}

Reply list_modules(RuntimeApi& runtime, const std::shared_ptr<v1::ListModulesRequest>&, const CallControl&) {
  Result<std::vector<ModuleInfo>> modules = runtime.list_modules();
  if (!modules.ok()) return modules.status();
  v1::ListModulesResponse response;
  for (const ModuleInfo& m : *modules) {
    v1::ModuleInfo& module = *response.add_modules();
    module.set_name(m.name);
    module.set_engine(m.engine);
    module.mutable_functions()->Assign(m.functions.begin(), m.functions.end());
  }
  return response;
}

// A response of nothing but a Value in field `field`.
Reply value_reply(const Result<Value>& value, int field) {
  if (!value.ok()) return value.status();
  wire::Writer writer(wire::TensorMemory::kShared);
  wire::put_value(writer, field, *value);
  return writer.finish();
}

Reply describe(RuntimeApi& runtime, const std::shared_ptr<v1::DescribeRequest>& request, const CallControl&) {
  return value_reply(runtime.describe(request->module(), request->function()),
                     v1::DescribeResponse::kDescriptionFieldNumber);
}

Reply get_handle(RuntimeApi& runtime, const std::shared_ptr<v1::GetHandleRequest>& request, const CallControl&) {
  return value_reply(runtime.get(wire::take_handle(request->handle())), v1::GetHandleResponse::kValueFieldNumber);
}

Reply free_handle(RuntimeApi& runtime, const std::shared_ptr<v1::FreeHandleRequest>& request, const CallControl&) {
  const Status status = runtime.free(wire::take_handle(request->handle()));
  if (!status.ok()) return status;
  return v1::FreeHandleResponse();
}

Reply put_handle(RuntimeApi& runtime, const std::shared_ptr<v1::PutHandleRequest>& request, const CallControl&) {
  Result<Value> value = wire::take_value(*request->mutable_value(), request, "value");
  if (!value.ok()) return value.status();
  Result<Handle> handle = runtime.put(std::move(*value), request->name());
  if (!handle.ok()) return handle.status();
  v1::PutHandleResponse response;
  *response.mutable_handle() = wire::to_message(*handle);
  return response;
}

Reply list_handles(RuntimeApi& runtime, const std::shared_ptr<v1::ListHandlesRequest>&, const CallControl&) {
  Result<std::vector<HandleTable::Entry>> entries = runtime.list_handles();
  if (!entries.ok()) return entries.status();
  v1::ListHandlesResponse response;
  for (const HandleTable::Entry& e : *entries) {
    v1::HandleEntry& entry = *response.add_handles();
    *entry.mutable_handle() = wire::to_message(e.handle);
    entry.set_name(e.name);
    entry.set_type(e.type);
    entry.set_bytes(static_cast<std::int64_t>(e.bytes));
  }
  return response;
}

}  // namespace

std::vector<Method> kernel_runtime_methods(RuntimeApi& runtime, const std::function<void(v1::GetInfoResponse&)>& info,
                                           std::size_t max_message_bytes) {
  const auto method = [&]<class Request>(const char* name, Lane lane, Answer<Request> answer) {
    return make_method<Request>(std::string("/krt.v1.KernelRuntime/") + name, lane,
                                [&runtime, answer](const auto& request, const CallControl& control) {
                                  return answer(runtime, request, control);
                                });
  };
  return {
      make_method<v1::GetInfoRequest>("/krt.v1.KernelRuntime/GetInfo", Lane::kInline,
                                      [&](const auto&, const CallControl&) { return get_info(runtime, info); }),
      method("ListModules", Lane::kInline, list_modules),
      method("Describe", Lane::kInline, describe),
      method("Execute", Lane::kQueued, execute),
      make_method<v1::ExecuteRequest>("/krt.v1.KernelRuntime/Generate", Lane::kQueued,
                                      [&runtime](const auto& request, const CallControl& control, const Send& send) {
                                        return generate(runtime, request, control, send);
                                      }),
      make_method<v1::ExecuteBatchRequest>(
          "/krt.v1.KernelRuntime/ExecuteBatch", Lane::kQueued,
          [&runtime, max_message_bytes](const auto& request, const CallControl& control) {
            return execute_batch(runtime, request, control, max_message_bytes);
          }),
      method("PutHandle", Lane::kQueued, put_handle),
      method("GetHandle", Lane::kQueued, get_handle),
      method("FreeHandle", Lane::kQueued, free_handle),
      method("ListHandles", Lane::kQueued, list_handles),
  };
}

}  // namespace krt
