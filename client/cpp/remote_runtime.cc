#include "client/cpp/remote_runtime.h"

#include <algorithm>
#include <cstring>

#include "client/cpp/channel.h"
#include "proto/codec/execute.h"
#include "proto/codec/value.h"

namespace krt {
namespace {

ExecuteResult failed(std::string_view module, std::string_view function, const CallOptions& options, Status error) {
  ExecuteResult r;
  r.module = module;
  r.function = function;
  r.request_id = options.request_id;
  r.engine_used = "none";
  r.error = std::move(error);
  return r;
}

// Whether an item needs a call of its own.
bool stands_alone(const BatchItem& item) {
  return item.options.on_event != nullptr || item.options.control.cancelled != nullptr ||
         item.options.control.deadline != Clock::time_point::max();
}

// Writes a changed argument to the tensor that was given for it, where that can be written to.
void write_to(const Value* given, const Value& changed) {
  const auto* to = given != nullptr ? given->get_if<Tensor>() : nullptr;
  const auto* from = changed.get_if<Tensor>();
  if (to == nullptr || from == nullptr || !to->writable()) return;
  if (to->dtype() != from->dtype() || to->elements() != from->elements() || from->elements() == 0) return;
  std::memcpy(to->mutable_data(), from->data(), from->bytes());
}

}  // namespace

RemoteRuntime::RemoteRuntime(RemoteOptions options)
    : options_(std::move(options)), channel_(std::make_unique<Channel>(options_)) {}

RemoteRuntime::~RemoteRuntime() = default;

CallControl RemoteRuntime::within_timeout() const {
  CallControl control;
  control.deadline = Clock::now() + options_.timeout;
  return control;
}

Result<Health> RemoteRuntime::health() {
  auto info = channel_->call<v1::GetInfoResponse>("GetInfo", v1::GetInfoRequest(), within_timeout());
  if (!info.ok()) return info.status();
  const v1::GetInfoResponse& i = **info;
  return Health{i.state() == v1::GetInfoResponse::STATE_SERVING, i.version(), i.uptime_seconds(), i.engine()};
}

Result<std::vector<ModuleInfo>> RemoteRuntime::list_modules() {
  auto response = channel_->call<v1::ListModulesResponse>("ListModules", v1::ListModulesRequest(), within_timeout());
  if (!response.ok()) return response.status();
  std::vector<ModuleInfo> out;
  for (const v1::ModuleInfo& m : (*response)->modules())
    out.push_back({m.name(), m.engine(), {m.functions().begin(), m.functions().end()}});
  return out;
}

Result<std::vector<std::string>> RemoteRuntime::list_functions(std::string_view module) {
  Result<Value> described = describe(module, "");
  if (!described.ok()) return described.status();
  std::vector<std::string> names;
  if (const auto* functions = (*described)["functions"].get_if<List>())
    for (const Value& f : *functions)
      if (const auto* name = f["name"].get_if<std::string>()) names.push_back(*name);
  return names;
}

Result<Value> RemoteRuntime::describe(std::string_view module, std::string_view function) {
  v1::DescribeRequest request;
  request.set_module(std::string(module));
  request.set_function(std::string(function));
  auto response = channel_->call<v1::DescribeResponse>("Describe", request, within_timeout());
  if (!response.ok()) return response.status();
  return wire::take_value(*(*response)->mutable_description(), *response, "the server's description");
}

ExecuteResult RemoteRuntime::execute(std::string_view module, std::string_view function, const Value& args,
                                     const CallOptions& options) {
  Result<grpc::ByteBuffer> request =
      wire::encode_request(module, function, args, options.request_id, wire::TensorMemory::kCopied);
  if (!request.ok()) return failed(module, function, options, request.status());
  Result<ExecuteResult> result =
      options.on_event ? channel_->generate(*request, options) : channel_->execute(*request, options);
  if (!result.ok()) return failed(module, function, options, result.status());
  write_back(args, *result);
  return std::move(*result);
}

std::vector<ExecuteResult> RemoteRuntime::execute_batch(std::span<const BatchItem> items) {
  std::vector<ExecuteResult> out;
  out.reserve(items.size());
  if (std::any_of(items.begin(), items.end(), stands_alone)) {
    for (const BatchItem& item : items) out.push_back(execute(item.module, item.function, item.args, item.options));
    return out;
  }
  const auto all_failed = [&](const Status& error) {
    for (const BatchItem& item : items) out.push_back(failed(item.module, item.function, item.options, error));
    return out;
  };
  Result<grpc::ByteBuffer> request = wire::encode_batch_request(items, wire::TensorMemory::kCopied);
  if (!request.ok()) return all_failed(request.status());
  auto response = channel_->call<v1::ExecuteBatchResponse>("ExecuteBatch", *request, {});
  if (!response.ok()) return all_failed(response.status());
  if (static_cast<std::size_t>((*response)->results_size()) != items.size())
    return all_failed({Reason::kInternal, "the server answered another number of items than it was given"});
  for (std::size_t i = 0; i < items.size(); ++i) {
    out.push_back(wire::take_result(*(*response)->mutable_results(static_cast<int>(i)), *response));
    write_back(items[i].args, out.back());
  }
  return out;
}

Result<RemoteRuntime::Names> RemoteRuntime::parameters(const std::string& module, const std::string& function) {
  const std::string key = module + "." + function;
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = parameters_.find(key); it != parameters_.end()) return it->second;
  }
  Result<Value> described = describe(module, function);
  if (!described.ok()) return described.status();
  Names names;
  if (const auto* params = (*described)["params"].get_if<List>())
    for (const Value& p : *params) names.push_back(*p["name"].get_if<std::string>());
  const std::lock_guard lock(mutex_);
  return parameters_[key] = std::move(names);
}

void RemoteRuntime::write_back(const Value& args, const ExecuteResult& result) {
  if (result.mutated.empty()) return;
  if (args.kind() == Kind::kDict) {
    for (const auto& [name, changed] : result.mutated) write_to(args.find(name), changed);
    return;
  }
  Result<Names> names = parameters(result.module, result.function);
  if (!names.ok()) return;
  const auto* list = args.get_if<List>();
  const std::span<const Value> given = list != nullptr ? std::span<const Value>(*list) : std::span(&args, 1);
  for (std::size_t i = 0; i < std::min(given.size(), names->size()); ++i)
    for (const auto& [name, changed] : result.mutated)
      if (name == (*names)[i]) write_to(&given[i], changed);
}

Result<Function> RemoteRuntime::function(std::string_view module, std::string_view name) {
  Result<Value> described = describe(module, name);
  if (!described.ok()) return described.status();
  if (name.empty())  // described the module
    return Status(Reason::kFunctionNotRegistered, "Runtime library " + quoted(module) + " does not expose ''");
  return Function(*this, nullptr, std::string(module), std::string(name));
}

Result<Handle> RemoteRuntime::put(Value value, std::string name) {
  wire::Writer writer(wire::TensorMemory::kCopied);
  writer.put_text(v1::PutHandleRequest::kNameFieldNumber, name);
  wire::put_value(writer, v1::PutHandleRequest::kValueFieldNumber, value);
  Result<grpc::ByteBuffer> request = writer.finish();
  if (!request.ok()) return request.status();
  auto response = channel_->call<v1::PutHandleResponse>("PutHandle", *request, within_timeout());
  if (!response.ok()) return response.status();
  return wire::take_handle((*response)->handle());
}

Result<Value> RemoteRuntime::get(Handle handle) {
  v1::GetHandleRequest request;
  *request.mutable_handle() = wire::to_message(handle);
  auto response = channel_->call<v1::GetHandleResponse>("GetHandle", request, within_timeout());
  if (!response.ok()) return response.status();
  return wire::take_value(*(*response)->mutable_value(), *response, "the server's value");
}

Status RemoteRuntime::free(Handle handle) {
  v1::FreeHandleRequest request;
  *request.mutable_handle() = wire::to_message(handle);
  return channel_->call<v1::FreeHandleResponse>("FreeHandle", request, within_timeout()).status();
}

Result<std::vector<HandleTable::Entry>> RemoteRuntime::list_handles() {
  auto response = channel_->call<v1::ListHandlesResponse>("ListHandles", v1::ListHandlesRequest(), within_timeout());
  if (!response.ok()) return response.status();
  std::vector<HandleTable::Entry> out;
  for (const v1::HandleEntry& e : (*response)->handles())
    out.push_back({wire::take_handle(e.handle()), e.name(), e.type(), static_cast<std::size_t>(e.bytes())});
  return out;
}

}  // namespace krt
