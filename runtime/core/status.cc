#include "runtime/core/status.h"

#include <array>

#include "runtime/core/utf8.h"

namespace krt {
namespace {

struct ReasonRow {
  Reason reason;
  Code code;
  std::string_view name;
};

constexpr std::array kReasons{
    ReasonRow{Reason::kNone, Code::kOk, "ok"},
    ReasonRow{Reason::kModuleNotRegistered, Code::kNotFound, "module_not_registered"},
    ReasonRow{Reason::kFunctionNotRegistered, Code::kNotFound, "function_not_registered"},
    ReasonRow{Reason::kInvalidArguments, Code::kInvalidArgument, "invalid_arguments"},
    ReasonRow{Reason::kHandleNotFound, Code::kNotFound, "handle_not_found"},
    ReasonRow{Reason::kAlreadyExists, Code::kAlreadyExists, "already_exists"},
    ReasonRow{Reason::kFailedPrecondition, Code::kFailedPrecondition, "failed_precondition"},
    ReasonRow{Reason::kNoVariant, Code::kUnimplemented, "no_variant"},
    ReasonRow{Reason::kResourceExhausted, Code::kResourceExhausted, "resource_exhausted"},
    ReasonRow{Reason::kDeadlineExceeded, Code::kDeadlineExceeded, "deadline_exceeded"},
    ReasonRow{Reason::kCancelled, Code::kCancelled, "cancelled"},
    ReasonRow{Reason::kRuntimeUnavailable, Code::kUnavailable, "compute_runtime_unavailable"},
    ReasonRow{Reason::kInternal, Code::kInternal, "internal"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kReasons.size(); ++i)
    if (static_cast<std::size_t>(kReasons[i].reason) != i) return false;
  return kReasons.back().reason == Reason::kInternal;
}
static_assert(in_order(), "kReasons is indexed by Reason");

}  // namespace

std::string_view name_of(Reason reason) { return kReasons[static_cast<std::size_t>(reason)].name; }

Code code_of(Reason reason) { return kReasons[static_cast<std::size_t>(reason)].code; }

Reason reason_named(std::string_view name) {
  for (const ReasonRow& row : kReasons)
    if (row.name == name) return row.reason;
  return Reason::kInternal;
}

const std::string& Status::message() const {
  static const std::string kEmpty;
  return ok() ? kEmpty : failure_->message;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "'";
  std::size_t characters = 0;
  while (!text.empty() && characters < kLongest) {
    const std::size_t length = utf8_sequence_length(text);
    const auto byte = static_cast<unsigned char>(text.front());
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
    ++characters;
  }
  if (!text.empty()) out += "...";
  return out + "'";
}

}  // namespace krt
