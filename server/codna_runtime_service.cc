#include "server/codna_runtime_service.h"

#include "algenta_runtime.pb.h"
#include "runtime/codec/json.h"

namespace krt {
namespace {

namespace pb = algenta::runtime::v1;

template <class Request>
using Answer = Reply (*)(RuntimeApi&, const std::shared_ptr<Request>&, const CallControl&);

constexpr char kEngine[] = "mojo";  // what the public clients ask for

Reply health(RuntimeApi& runtime, const std::shared_ptr<pb::HealthRequest>&, const CallControl&) {
  Result<Health> health = runtime.health();
  if (!health.ok()) return health.status();
  pb::HealthResponse response;
  response.set_ok(health->ok);
  response.set_version(health->version);
  response.set_uptime_seconds(health->uptime_seconds);
  response.set_engine(kEngine);
  return response;
}

Reply get_runtime_info(RuntimeApi& runtime, const std::shared_ptr<pb::RuntimeInfoRequest>&, const CallControl&) {
  Result<Health> health = runtime.health();
  if (!health.ok()) return health.status();
  Result<std::vector<ModuleInfo>> modules = runtime.list_modules();
  if (!modules.ok()) return modules.status();
  pb::RuntimeInfoResponse response;
  response.set_version(health->version);
  response.set_engine(kEngine);
  response.set_module_count(static_cast<int>(modules->size()));
  response.set_uptime_seconds(health->uptime_seconds);
  response.set_mojo_available(health->ok);
  return response;
}

Reply list_modules(RuntimeApi& runtime, const std::shared_ptr<pb::ListModulesRequest>&, const CallControl&) {
  Result<std::vector<ModuleInfo>> modules = runtime.list_modules();
  if (!modules.ok()) return modules.status();
  pb::ListModulesResponse response;
  for (const ModuleInfo& m : *modules) {
    pb::ModuleInfo& module = *response.add_modules();
    module.set_name(m.name);
    module.set_engine(kEngine);
    module.mutable_functions()->Assign(m.functions.begin(), m.functions.end());
  }
  return response;
}

ExecuteResult run(RuntimeApi& runtime, pb::ExecuteRequest& request, const CallControl& control) {
  Result<Value> args = parse_json_args(request.args_json());
  if (args.ok()) {
    request.clear_args_json();
    return runtime.execute(request.module(), request.function(), *args, {request.request_id(), control, true});
  }
  ExecuteResult r;
  r.error = {args.status().reason(), "args_json: " + args.status().message()};
  return r;
}

Reply execute_module(RuntimeApi& runtime, const std::shared_ptr<pb::ExecuteRequest>& request,
                     const CallControl& control, std::size_t max_bytes) {
  ExecuteResult r = run(runtime, *request, control);
  const Reason reason = r.error.reason();
  if (reason == Reason::kDeadlineExceeded || reason == Reason::kCancelled) return r.error;
  pb::ExecuteResponse response;
  response.set_request_id(request->request_id());
  response.set_latency_ms(r.latency_ms);
  response.set_success(r.success());
  response.set_engine_used(r.success() ? kEngine : "none");
  if (r.success()) {
    Result<std::string> text = to_json_within(max_bytes, with_mutated(std::move(r.result), std::move(r.mutated)));
    if (!text.ok())
      return Status(text.status().reason(), request->module() + "." + request->function() +
                                                ": the result: " + text.status().message() +
                                                "; raise max_message_bytes (krt serve --max-message-bytes)");
    response.set_result_json(std::move(*text));
  } else {
    response.set_result_json("null");
    response.set_error(std::string(name_of(reason)) + ": " + r.error.message());
  }
  Reply reply(response);
  reply.note = "module=" + quoted(request->module()) + " function=" + quoted(request->function()) +
               " request_id=" + quoted(request->request_id()) + " error_code=" + std::string(name_of(reason));
  return reply;
}

}  // namespace

Value with_mutated(Value result, Dict mutated) {
  if (mutated.empty()) return result;
  if (result.is_null()) return mutated;
  if (result.kind() != Kind::kDict) result = Dict{{"result", std::move(result)}};
  for (auto& [name, value] : mutated)
    if (result.find(name) == nullptr) result.get_if<Dict>()->emplace_back(name, std::move(value));
  return result;
}

std::vector<Method> codna_runtime_methods(RuntimeApi& runtime, std::size_t max_message_bytes) {
  const std::string service = "/algenta.runtime.v1.CodnaRuntime/";
  const auto method = [&]<class Request>(const char* name, Lane lane, Answer<Request> answer) {
    return make_method<Request>(service + name, lane,
                                [&runtime, answer](const auto& request, const CallControl& control) {
                                  return answer(runtime, request, control);
                                });
  };
  const auto not_served = [&](const char* name, const char* what) {
    const grpc::Status status(grpc::StatusCode::UNIMPLEMENTED, std::string(name) + ": krt " + what);
    return Method{service + name, Lane::kInline, false,
                  [status](grpc::ByteBuffer&, const CallControl&, const Send&) { return Reply(status); }};
  };
  return {
      method("Health", Lane::kInline, health),
      method("GetRuntimeInfo", Lane::kInline, get_runtime_info),
      method("ListModules", Lane::kInline, list_modules),
      make_method<pb::ExecuteRequest>(service + "ExecuteModule", Lane::kQueued,
                                      [&runtime, max_message_bytes](const auto& request, const CallControl& control) {
                                        return execute_module(runtime, request, control, max_message_bytes);
                                      }),
      not_served("ExecuteQuery", "executes kernels and no queries; call ExecuteModule"),
      not_served("VerifyAndExecute", "has no data sources to verify; call ExecuteModule"),
      not_served("GetEntitlementStatus", "is free software and entitles everyone"),
  };
}

}  // namespace krt
