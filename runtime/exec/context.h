#pragma once
// Context: what a call may use besides its arguments, and what it tells about itself. One per call.

#include <atomic>
#include <chrono>
#include <functional>
#include <string_view>

#include "runtime/core/status.h"
#include "runtime/core/value.h"
#include "runtime/exec/arena.h"
#include "runtime/exec/handles.h"

namespace krt {

using Clock = std::chrono::steady_clock;

// When a call should stop. Long kernels ask at checkpoints; a queue asks before it starts a call.
struct CallControl {
  Clock::time_point deadline = Clock::time_point::max();
  const std::atomic<bool>* cancelled = nullptr;  // outlives the call

  // OK, cancelled or deadline_exceeded.
  [[nodiscard]] Status check() const {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed))
      return {Reason::kCancelled, "the caller cancelled the call"};
    if (deadline != Clock::time_point::max() && Clock::now() >= deadline)
      return {Reason::kDeadlineExceeded, "the deadline passed"};
    return {};
  }
};

// What a function answers before its result, such as the text of a token.
using EventSink = std::function<void(const Value& event)>;

struct Context {
  Arena& arena;
  HandleTable& handles;
  CallControl control = {};
  // The arguments were copied from another process (or from text), so that a kernel that changes one in place
  // may work on a converted copy: the change is sent back. False: the caller's own memory must be changed.
  bool arguments_by_value = false;
  // The one variant that may serve the call; empty: the best that no gate refuses.
  std::string_view force_variant = {};
  // Set by a kernel with variants: static text such as "avx3" or "scalar".
  std::string_view variant = "reference";

  // Who wants events; null: nobody.
  const EventSink* sink = nullptr;

  // Hands an event over before it returns, in the thread of the call; a remote caller that reads slowly holds it up.
  void emit(const Value& event) const {
    if (sink != nullptr) (*sink)(event);
  }

  // For loops that may run for more than about 0.1 s: throws StatusError (cancelled, deadline_exceeded), which the
  // runtime answers as an error. Call it every 10 us to 10 ms of work, from any thread of the call.
  void checkpoint() const {
    if (Status status = control.check(); !status.ok()) throw StatusError(std::move(status));
  }
};

}  // namespace krt
