#pragma once
// The kernels that come with krt: one folder each under modules/.

#include "runtime/registry/registry.h"
#include "runtime/runtime.h"

namespace krt {

void register_builtin(Registry& registry);

// A frozen registry of all of them.
Registry builtin_registry();

}  // namespace krt
