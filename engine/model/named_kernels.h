#pragma once
// NamedKernels: calls kernels by name through a registry of all that is built in, as any other program does.
//
//   const NamedKernels call(context);
//   Tensor y = call("llmk.residual", "residual_add_flat", {a, b, n}, "out");

#include <string_view>

#include "runtime/registry/registry.h"

namespace krt::engine {

class NamedKernels {
 public:
  explicit NamedKernels(const Context& context);

  // The kernel's value. Throws StatusError, with the kernel's name in it, where there is no such kernel or it refuses.
  Value value(std::string_view module, std::string_view function, const List& args) const;
  // One list of its result.
  Tensor operator()(std::string_view module, std::string_view function, const List& args, std::string_view field) const;

 private:
  const Registry& registry_;
  // Memory that a kernel changes in place is this process's own, whoever asked for the text.
  mutable Context context_;
};

}  // namespace krt::engine
