#pragma once
// From the args of execute (null, list, dict or a single value) to one Value per parameter, and the call itself
// with every exception caught.

#include "runtime/registry/declaration.h"

namespace krt {

// The positional arguments of `info` out of `args`. The span lies in `args` itself or in `storage`.
// Refused: a wrong count, a missing, unknown or repeated name.
Result<std::span<const Value>> arrange(const FunctionInfo& info, const Value& args, List& storage);
// The same for arguments that are positional already.
Result<std::span<const Value>> arrange(const FunctionInfo& info, std::span<const Value> args, List& storage);

namespace detail {
// What the exception that is being handled says of the call.
Status thrown_by(const FunctionInfo& info);
}  // namespace detail

// Calls the kernel. `args` holds one value per parameter. No exception leaves: out of memory is
// resource_exhausted, anything else is internal.
inline Status invoke(const FunctionInfo& info, Context& context, std::span<const Value> args, Value& out,
                     Dict* mutated) {
  try {
    return info.thunk(info, context, args, out, mutated);
  } catch (...) {
    return detail::thrown_by(info);
  }
}

}  // namespace krt
