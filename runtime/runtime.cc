#include "runtime/runtime.h"

#include "runtime/dispatch/isa.h"
#include "runtime/registry/call.h"
#include "runtime/version.h"

namespace krt {

Result<Value> Function::operator()(std::span<const Value> args) const {
  return info_ != nullptr ? static_cast<Runtime*>(runtime_)->call(*info_, args) : call_by_name(args);
}

Result<Value> Function::call_by_name(std::span<const Value> args) const {
  ExecuteResult r = runtime_->execute(module_, name_, List(args.begin(), args.end()));
  if (!r.success()) return r.error;
  return std::move(r.result);
}

Runtime::Runtime(Registry registry, const RuntimeOptions& options)
    : registry_(std::move(registry)), arena_(options.threads), handles_(options.max_handles, options.max_handle_bytes) {
  static_cast<void>(isa_cap());  // an unknown KRT_ISA is an error here, not at the first call
  if (!registry_.frozen()) {
    const Status frozen = registry_.freeze();
    if (!frozen.ok()) throw std::invalid_argument(frozen.message());
  }
}

Result<Health> Runtime::health() {
  return Health{true, std::string(kVersion), std::chrono::duration<double>(Clock::now() - started_).count(), "mojo"};
}

Result<std::vector<ModuleInfo>> Runtime::list_modules() {
  std::vector<ModuleInfo> out;
  for (const std::string& name : registry_.modules()) out.push_back({name, "mojo", registry_.functions(name).value()});
  return out;
}

Result<std::vector<std::string>> Runtime::list_functions(std::string_view module) {
  return registry_.functions(module);
}

Result<Value> Runtime::describe(std::string_view module, std::string_view function) {
  if (!function.empty()) {
    Result<const FunctionInfo*> info = registry_.lookup(module, function);
    if (!info.ok()) return info.status();
    return Value((*info)->describe());
  }
  Result<std::vector<std::string>> names = registry_.functions(module);
  if (!names.ok()) return names.status();
  List functions;
  for (const std::string& name : *names) functions.emplace_back(registry_.find(module, name)->describe());
  return Value(
      Dict{{"name", module}, {"summary", registry_.module_summary(module)}, {"functions", std::move(functions)}});
}

namespace {

void take_status(const FunctionInfo& info, ExecuteResult& r) {
  if (info.status_field < 0) return;
  const auto* dict = r.result.get_if<Dict>();
  r.status = *(*dict)[static_cast<std::size_t>(info.status_field)].second.get_if<std::int64_t>();
  r.status_name = status_name(info.statuses, r.status, "unknown_status");
}

Status invoke_with_defaults(const FunctionInfo& info, Context& context, std::span<const Value> args, Value& out) {
  List storage;
  Result<std::span<const Value>> arranged = arrange(info, args, storage);
  if (!arranged.ok()) return std::move(arranged).status();
  return invoke(info, context, *arranged, out, nullptr);
}

}  // namespace

ExecuteResult Runtime::execute(std::string_view module, std::string_view function, const Value& args,
                               const CallOptions& options) {
  const Clock::time_point start = Clock::now();
  ExecuteResult r{.module = std::string(module), .function = std::string(function), .request_id = options.request_id};
  r.error = execute(args, options, r);
  r.latency_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return r;
}

Status Runtime::execute(const Value& args, const CallOptions& options, ExecuteResult& r) {
  if (Status stop = options.control.check(); !stop.ok()) return stop;
  Result<const FunctionInfo*> info = registry_.lookup(r.module, r.function);
  if (!info.ok()) return std::move(info).status();
  List storage;
  Result<std::span<const Value>> values = arrange(**info, args, storage);
  if (!values.ok()) return std::move(values).status();
  Context context{arena_, handles_, options.control, options.arguments_by_value};
  if (options.on_event) context.sink = &options.on_event;
  if (Status failed = invoke(**info, context, *values, r.result, &r.mutated); !failed.ok()) return failed;
  r.engine_used = context.variant;
  take_status(**info, r);
  return {};
}

std::vector<ExecuteResult> Runtime::execute_batch(std::span<const BatchItem> items) {
  std::vector<ExecuteResult> out;
  out.reserve(items.size());
  for (const BatchItem& item : items) out.push_back(execute(item.module, item.function, item.args, item.options));
  return out;
}

Result<Function> Runtime::function(std::string_view module, std::string_view name) {
  Result<const FunctionInfo*> info = registry_.lookup(module, name);
  if (!info.ok()) return info.status();
  return Function(*this, *info, std::string(module), std::string(name));
}

Result<Value> Runtime::call(std::string_view module, std::string_view function, std::span<const Value> args) {
  Result<const FunctionInfo*> info = registry_.lookup(module, function);
  if (!info.ok()) return info.status();
  return call(**info, args);
}

Result<Value> Runtime::call(const FunctionInfo& info, std::span<const Value> args) {
  Context context{arena_, handles_};
  Result<Value> out(std::in_place);
  Status failed = args.size() == info.params.size() ? invoke(info, context, args, *out, nullptr)
                                                    : invoke_with_defaults(info, context, args, *out);
  if (!failed.ok()) out = std::move(failed);
  return out;
}

Result<Handle> Runtime::put(Value value, std::string name) { return handles_.put(std::move(value), std::move(name)); }

Result<Value> Runtime::get(Handle handle) {
  Result<std::shared_ptr<const Value>> held = handles_.get(handle);
  if (!held.ok()) return held.status();
  return **held;
}

Status Runtime::free(Handle handle) { return handles_.free(handle); }

Result<std::vector<HandleTable::Entry>> Runtime::list_handles() { return handles_.list(); }

}  // namespace krt
