#pragma once
// algenta.runtime.v1.CodnaRuntime over a RuntimeApi: arguments and results are JSON text.

#include <vector>

#include "runtime/api.h"
#include "server/method.h"

namespace krt {

// `runtime` outlives the methods. A result whose text would be over `max_message_bytes` is refused (resource_exhausted)
// before it is all written.
std::vector<Method> codna_runtime_methods(RuntimeApi& runtime, std::size_t max_message_bytes);

// The one JSON value that this service has for a result: changed arguments are members beside the kernel's own fields,
// which win where a name is in both. Where the kernel's value is no dict, it is the member "result".
Value with_mutated(Value result, Dict mutated);

}  // namespace krt
