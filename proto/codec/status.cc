#include "proto/codec/status.h"

namespace krt::wire {
namespace {

Reason reason_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK: return Reason::kNone;
    case grpc::StatusCode::CANCELLED: return Reason::kCancelled;
    case grpc::StatusCode::INVALID_ARGUMENT: return Reason::kInvalidArguments;
    case grpc::StatusCode::DEADLINE_EXCEEDED: return Reason::kDeadlineExceeded;
    case grpc::StatusCode::ALREADY_EXISTS: return Reason::kAlreadyExists;
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return Reason::kResourceExhausted;
    case grpc::StatusCode::FAILED_PRECONDITION: return Reason::kFailedPrecondition;
    // No krt answers there: nobody does, or a server without krt.v1.
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::UNIMPLEMENTED: return Reason::kRuntimeUnavailable;
    default: return Reason::kInternal;
  }
}

// The same instant on another clock. What is years away is never, so that no sum overflows.
template <class To, class From>
typename To::time_point on_clock(typename From::time_point t) {
  constexpr std::chrono::hours kYears{24 * 365 * 10};
  if (t > From::now() + kYears) return To::time_point::max();
  return To::now() + std::chrono::duration_cast<typename To::duration>(t - From::now());
}

}  // namespace

grpc::Status to_grpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), status.message()};
}

Status from_grpc(const grpc::Status& status, const grpc::ClientContext& context, const std::string& target) {
  if (status.ok()) return {};
  const auto& trailers = context.GetServerTrailingMetadata();
  if (const auto it = trailers.find(kReasonKey); it != trailers.end())
    return {reason_named({it->second.data(), it->second.size()}), status.error_message()};
  const Reason reason = reason_of(status.error_code());
  if (reason == Reason::kRuntimeUnavailable)
    return {reason, "no krt server answers at " + target + ": " + status.error_message()};
  if (reason == Reason::kResourceExhausted)
    return {reason, status.error_message() + "; a larger message needs a larger max_message_bytes on both ends"};
  return {reason, status.error_message()};
}

Clock::time_point from_system(std::chrono::system_clock::time_point deadline) {
  return on_clock<Clock, std::chrono::system_clock>(deadline);
}

std::chrono::system_clock::time_point to_system(Clock::time_point deadline) {
  return on_clock<std::chrono::system_clock, Clock>(deadline);
}

}  // namespace krt::wire
