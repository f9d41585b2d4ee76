#pragma once
// TestContext: what a kernel needs that is called without a Runtime. It converts to the Context& that kernels take.

#include "runtime/exec/context.h"

namespace krt::testing {

struct TestContext {
  explicit TestContext(int threads = 1) : arena(threads) {}
  operator Context&() { return context; }

  Arena arena;
  HandleTable handles;
  Context context{arena, handles};
};

}  // namespace krt::testing
