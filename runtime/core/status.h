#pragma once
// Status and Result<T>: how krt reports that something could not be done.
//
// A Status is either OK or a Reason with a sentence. Reasons are a closed list, so that callers can switch on
// them; each belongs to one of gRPC's canonical codes, with gRPC's number, so that no transport needs a
// translation table. A kernel's own numeric status (560 llmk_ok, ...) is part of its result, never a Status.

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace krt {

enum class Code : std::int32_t {
  kOk = 0,
  kCancelled = 1,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
};

enum class Reason : std::uint8_t {
  kNone,
  kModuleNotRegistered,    // no module of that name
  kFunctionNotRegistered,  // the module is there, the function is not (or is internal)
  kInvalidArguments,       // wrong arity, name, type, shape or text; the sentence names the argument
  kHandleNotFound,         // a handle that was freed, or that belongs to another runtime
  kAlreadyExists,          // a name registered twice
  kFailedPrecondition,     // the call is right, the state is not (frozen registry, model still loading)
  kNoVariant,              // every variant was refused by a gate; the sentence names the gates
  kResourceExhausted,      // a limit on size, count or memory; retrying later may help
  kDeadlineExceeded,       // the caller's deadline passed before or during the work
  kCancelled,              // the caller gave up
  kRuntimeUnavailable,     // the runtime that should answer cannot be reached
  kInternal,               // a broken promise of krt itself
};

// "invalid_arguments", ...: the spelling on every wire.
std::string_view name_of(Reason reason);
Code code_of(Reason reason);
// The inverse of name_of; an unknown spelling is kInternal.
Reason reason_named(std::string_view name);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Reason reason, std::string message)
      : failure_(std::make_unique<Failure>(Failure{reason, std::move(message)})) {}
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  Status(const Status& other) : failure_(other.failure_ ? std::make_unique<Failure>(*other.failure_) : nullptr) {}
  Status& operator=(const Status& other) { return *this = Status(other); }
  ~Status() = default;

  [[nodiscard]] bool ok() const { return failure_ == nullptr; }
  [[nodiscard]] Reason reason() const { return ok() ? Reason::kNone : failure_->reason; }
  [[nodiscard]] Code code() const { return ok() ? Code::kOk : code_of(failure_->reason); }
  [[nodiscard]] const std::string& message() const;

 private:
  struct Failure {
    Reason reason;
    std::string message;
  };
  std::unique_ptr<Failure> failure_;  // null is OK: the path that matters costs one pointer
};

inline Status invalid(std::string message) { return {Reason::kInvalidArguments, std::move(message)}; }

// Carries a status through code that cannot return one; a call through the registry answers with it.
class StatusError : public std::runtime_error {
 public:
  explicit StatusError(Status status) : std::runtime_error(status.message()), status_(std::move(status)) {}
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  Status status_;
};

// A T, or the Status that says why there is none. value() of a failure is a programming error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status failure) : failure_(std::move(failure)) { assert(!failure_.ok()); }
  // A T() for the callee to fill in.
  explicit Result(std::in_place_t) : value_(std::in_place) {}

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const& { return failure_; }
  [[nodiscard]] Status status() && { return std::move(failure_); }
  [[nodiscard]] T& value() & { return *value_; }
  [[nodiscard]] const T& value() const& { return *value_; }
  [[nodiscard]] T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status failure_;  // OK where there is a value
};

// `text` as it may stand in an error sentence: quoted, cut at 80 characters, control bytes and ill-formed
// UTF-8 escaped, so that a hostile name cannot break a log line or a wire that wants UTF-8.
std::string quoted(std::string_view text);

}  // namespace krt
