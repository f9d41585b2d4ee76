#pragma once
// Registry: the functions there are, by module and name. An ordinary object: tests make their own.
//
// Filled by ModuleBuilder (runtime/registry/module_builder.h), then frozen; after that it is only read, so that
// look-ups take no lock.

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/registry/name_index.h"

namespace krt {

class Registry {
 public:
  Registry() = default;
  Registry(Registry&&) = default;
  Registry& operator=(Registry&&) = default;

  // Adds an empty declaration for the builder to fill in.
  FunctionInfo& add(std::string_view module, std::string_view name);
  void describe_module(std::string_view module, std::string_view summary);

  // Ends registration. Refuses a name used twice, an example that is missing, and whatever else makes a
  // declaration unfit to be served; every problem is in the message.
  Status freeze();
  [[nodiscard]] bool frozen() const { return frozen_; }

  // Any function, internal ones too; null where there is none.
  [[nodiscard]] const FunctionInfo* find(std::string_view module, std::string_view name) const {
    return index_.find(module, name);
  }
  // A function that callers may name: internal ones are not there.
  [[nodiscard]] Result<const FunctionInfo*> lookup(std::string_view module, std::string_view name) const {
    const FunctionInfo* info = find(module, name);
    if (info != nullptr && !info->internal()) return info;
    return unknown(module, name);
  }

  // Sorted by name; without internal functions, and without modules that have nothing else.
  [[nodiscard]] std::vector<std::string> modules() const;
  [[nodiscard]] Result<std::vector<std::string>> functions(std::string_view module) const;
  [[nodiscard]] std::string_view module_summary(std::string_view module) const;
  // Every declaration, internal ones too, in the order of module and name.
  [[nodiscard]] std::vector<const FunctionInfo*> all() const;

 private:
  [[nodiscard]] Status unknown(std::string_view module, std::string_view name) const;

  struct Module {
    std::string summary;
    std::map<std::string, const FunctionInfo*, std::less<>> functions;  // public ones
  };

  std::deque<FunctionInfo> declarations_;  // stable addresses
  NameIndex index_;
  std::map<std::string, Module, std::less<>> modules_;
  bool frozen_ = false;
};

}  // namespace krt
