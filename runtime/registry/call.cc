#include "runtime/registry/call.h"

#include <algorithm>
#include <new>

namespace krt {
namespace {

std::string names_of(const FunctionInfo& info) {
  std::string out = "(";
  for (std::size_t i = 0; i < info.params.size(); ++i) out += (i != 0 ? ", " : "") + info.params[i].name;
  return out + ")";
}

Status wrong_count(const FunctionInfo& info, std::size_t got) {
  const std::size_t arity = info.params.size();
  return invalid(info.full_name() + " takes " + std::to_string(arity) + (arity == 1 ? " argument " : " arguments ") +
                 names_of(info) + ", got " + std::to_string(got));
}

Status missing(const FunctionInfo& info, const Param& param) {
  return invalid(info.full_name() + ": argument " + quoted(param.name) + " is missing; it takes " + names_of(info));
}

bool is_listlike(const Value& v) {
  return v.kind() == Kind::kTensor || v.kind() == Kind::kList || v.kind() == Kind::kHandle;
}

// A list given to a function whose only parameter is a list: is it that parameter, or the positional arguments?
// It is the positional arguments where it has one element that the parameter would take: a list, or null where it has
// a default.
bool is_the_one_list(const FunctionInfo& info, const List& args) {
  if (info.params.size() != 1 || !info.params[0].is_list) return false;
  const bool positional = args.size() == 1 && (is_listlike(args[0]) || (args[0].is_null() && info.params[0].fallback));
  return !positional;
}

Result<std::span<const Value>> arrange_by_name(const FunctionInfo& info, const Dict& args, List& storage) {
  storage.assign(info.params.size(), Value());
  std::vector<bool> given(info.params.size(), false);
  for (const auto& [name, value] : args) {
    const auto it =
        std::find_if(info.params.begin(), info.params.end(), [&name = name](const Param& p) { return p.name == name; });
    if (it == info.params.end())
      return invalid(info.full_name() + ": no argument is named " + quoted(name) + "; it takes " + names_of(info));
    const auto i = static_cast<std::size_t>(it - info.params.begin());
    if (given[i]) return invalid(info.full_name() + ": argument " + quoted(name) + " is given twice");
    storage[i] = value;
    given[i] = true;
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]) continue;
    if (!info.params[i].fallback) return missing(info, info.params[i]);
    storage[i] = *info.params[i].fallback;
  }
  return std::span<const Value>(storage);
}

}  // namespace

Result<std::span<const Value>> arrange(const FunctionInfo& info, std::span<const Value> args, List& storage) {
  const std::size_t arity = info.params.size();
  if (args.size() == arity) return args;
  if (args.size() > arity) return wrong_count(info, args.size());
  storage.assign(args.begin(), args.end());
  for (std::size_t i = args.size(); i < arity; ++i) {
    if (!info.params[i].fallback) return args.empty() ? wrong_count(info, 0) : missing(info, info.params[i]);
    storage.push_back(*info.params[i].fallback);
  }
  return std::span<const Value>(storage);
}

Result<std::span<const Value>> arrange(const FunctionInfo& info, const Value& args, List& storage) {
  if (const auto* list = args.get_if<List>()) {
    if (is_the_one_list(info, *list)) return std::span<const Value>(&args, 1);
    return arrange(info, std::span<const Value>(*list), storage);
  }
  if (const auto* dict = args.get_if<Dict>()) return arrange_by_name(info, *dict, storage);
  if (args.is_null()) return arrange(info, std::span<const Value>(), storage);
  return arrange(info, std::span<const Value>(&args, 1), storage);
}

Status detail::thrown_by(const FunctionInfo& info) {
  try {
    throw;
  } catch (const StatusError& e) {
    return {e.status().reason(), info.full_name() + ": " + e.status().message()};
  } catch (const std::bad_alloc&) {
    return {Reason::kResourceExhausted, info.full_name() + ": out of memory"};
  } catch (const std::length_error&) {
    return {Reason::kResourceExhausted, info.full_name() + ": the result would be too large"};
  } catch (const std::exception& e) {
    return {Reason::kInternal, info.full_name() + ": " + e.what()};
  } catch (...) {
    return {Reason::kInternal, info.full_name() + " threw something that is no std::exception"};
  }
}

}  // namespace krt
