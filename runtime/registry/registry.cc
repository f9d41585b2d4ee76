#include "runtime/registry/registry.h"

#include <algorithm>

#include "runtime/registry/binding.h"

namespace krt {

FunctionInfo& Registry::add(std::string_view module, std::string_view name) {
  assert(!frozen_);
  FunctionInfo& info = declarations_.emplace_back();
  info.module = module;
  info.name = name;
  return info;
}

void Registry::describe_module(std::string_view module, std::string_view summary) {
  modules_[std::string(module)].summary = summary;
}

namespace {

std::string problem_with(const FunctionInfo& info) {
  if (info.thunk == nullptr) return "has no implementation";
  // A call that reads files has no arguments that work everywhere.
  const bool wants_example = !info.internal() && info.caps.side_effects != SideEffects::kReadsFiles;
  if (info.example.empty() && wants_example) return "has no example";
  if (info.status_field >= 0 && info.statuses.empty()) return "returns a status but has no status table";
  for (std::size_t i = 0; i < info.params.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (info.params[i].name == info.params[j].name)
        return "names parameter " + quoted(info.params[i].name) + " twice";
  return {};
}

}  // namespace

Status Registry::freeze() {
  std::string problems;
  for (const FunctionInfo& info : declarations_) {
    std::string problem = problem_with(info);
    if (!index_.insert(info)) problem = "is registered twice";
    if (!problem.empty()) problems += (problems.empty() ? "" : "; ") + info.full_name() + " " + problem;
    if (!info.internal()) modules_[info.module].functions.emplace(info.name, &info);
  }
  std::erase_if(modules_, [](const auto& entry) { return entry.second.functions.empty(); });
  frozen_ = true;
  if (!problems.empty()) return {Reason::kAlreadyExists, "the registry cannot be served: " + problems};
  return {};
}

Status Registry::unknown(std::string_view module, std::string_view name) const {
  if (modules_.find(module) == modules_.end())
    return {Reason::kModuleNotRegistered, "Unknown runtime library " + quoted(module)};
  return {Reason::kFunctionNotRegistered, "Runtime library " + quoted(module) + " does not expose " + quoted(name)};
}

std::vector<std::string> Registry::modules() const {
  std::vector<std::string> out;
  for (const auto& [name, module] : modules_) out.push_back(name);
  return out;
}

Result<std::vector<std::string>> Registry::functions(std::string_view module) const {
  const auto it = modules_.find(module);
  if (it == modules_.end()) return Status(Reason::kModuleNotRegistered, "Unknown runtime library " + quoted(module));
  std::vector<std::string> out;
  for (const auto& [name, info] : it->second.functions) out.push_back(name);
  return out;
}

std::string_view Registry::module_summary(std::string_view module) const {
  const auto it = modules_.find(module);
  return it == modules_.end() ? std::string_view() : it->second.summary;
}

std::vector<const FunctionInfo*> Registry::all() const {
  std::vector<const FunctionInfo*> out;
  for (const FunctionInfo& info : declarations_) out.push_back(&info);
  std::sort(out.begin(), out.end(), [](const FunctionInfo* a, const FunctionInfo* b) {
    return std::tie(a->module, a->name) < std::tie(b->module, b->name);
  });
  return out;
}

Status detail::argument_error(const FunctionInfo& info, std::size_t i, const Value& got, ArgumentError error) {
  const Param& param = info.params[i];
  if (error.text.empty()) error.text = "must be " + param.type + ", got " + type_text(got);
  return {error.handle ? Reason::kHandleNotFound : Reason::kInvalidArguments,
          info.full_name() + ": argument " + quoted(param.name) + " " + error.text};
}

}  // namespace krt
