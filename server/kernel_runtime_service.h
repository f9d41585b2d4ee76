#pragma once
// krt.v1.KernelRuntime over a RuntimeApi.

#include <vector>

#include "krt/v1/kernel_runtime.pb.h"
#include "runtime/api.h"
#include "server/method.h"

namespace krt {

// `info` fills in what only the server knows: state, limits, what is in flight. Both outlive the methods. The results
// of a batch take up to `max_message_bytes`; one that would pass it is answered resource_exhausted.
std::vector<Method> kernel_runtime_methods(RuntimeApi& runtime, const std::function<void(v1::GetInfoResponse&)>& info,
                                           std::size_t max_message_bytes);

}  // namespace krt
