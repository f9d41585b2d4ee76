#pragma once
// What the worker answers to one request, as text to text: docs/protocol.md, "The worker", has the messages.

#include <string>
#include <string_view>

#include "runtime/runtime.h"

namespace krt::worker {

struct Reply {
  std::string json;
  bool shutdown = false;  // the peer asked the worker to end, after this reply
};

// Every request has a reply: {"error", "error_code", "error_message"} where it cannot be understood or fails.
Reply answer(Runtime& runtime, std::string_view request);

std::string ready_message();
std::string error_message(const Status& status);

}  // namespace krt::worker
