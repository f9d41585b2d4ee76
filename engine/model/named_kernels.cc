#include "engine/model/named_kernels.h"

#include "modules/builtin.h"
#include "runtime/registry/call.h"

namespace krt::engine {
namespace {

const Registry& builtin() {
  static const Registry registry = builtin_registry();
  return registry;
}

// The kernel's own status: a field of its result, or the whole of it where it answers a bare status.
std::int64_t status_of(const FunctionInfo& info, const Value& result) {
  if (const auto* bare = result.get_if<std::int64_t>()) return *bare;
  if (info.status_field < 0) return info.statuses.front().code;
  return *(*result.get_if<Dict>())[static_cast<std::size_t>(info.status_field)].second.get_if<std::int64_t>();
}

}  // namespace

NamedKernels::NamedKernels(const Context& context)
    : registry_(builtin()), context_{context.arena, context.handles, context.control} {}

Value NamedKernels::value(std::string_view module, std::string_view function, const List& args) const {
  const FunctionInfo* info = registry_.find(module, function);
  if (info == nullptr)
    throw StatusError(Status{Reason::kFunctionNotRegistered,
                             "the registry has no " + std::string(module) + "." + std::string(function)});
  Value out;
  if (Status failed = invoke(*info, context_, args, out, nullptr); !failed.ok()) throw StatusError(std::move(failed));
  if (info->statuses.empty()) return out;
  const std::int64_t status = status_of(*info, out);
  if (status != info->statuses.front().code)
    throw StatusError(
        Status{Reason::kInternal, info->full_name() + ": " + std::string(status_name(info->statuses, status, "?"))});
  return out;
}

Tensor NamedKernels::operator()(std::string_view module, std::string_view function, const List& args,
                                std::string_view field) const {
  const Value result = value(module, function, args);
  return *result[field].get_if<Tensor>();
}

}  // namespace krt::engine
