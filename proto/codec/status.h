#pragma once
// krt's Status as a gRPC status, deadlines and the sizes that both ends agree on.

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <chrono>

#include "runtime/exec/context.h"

namespace krt::wire {

// The trailing metadata that spells the reason of a gRPC status; gRPC's codes are coarser.
inline constexpr char kReasonKey[] = "krt-reason";

inline constexpr std::size_t kDefaultMaxMessageBytes = std::size_t{64} << 20U;

grpc::Status to_grpc(const Status& status);
// What a call ended with, by its krt-reason, or by its code where there is none (any other server, a proxy, gRPC
// itself). `target` is named where nothing answers there.
Status from_grpc(const grpc::Status& status, const grpc::ClientContext& context, const std::string& target);

// gRPC counts deadlines on the system's clock.
Clock::time_point from_system(std::chrono::system_clock::time_point deadline);
std::chrono::system_clock::time_point to_system(Clock::time_point deadline);

}  // namespace krt::wire
