#pragma once
// Frames of the worker's socket: a 4-byte big-endian length, then that many bytes of JSON.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/core/status.h"

namespace krt::worker {

inline constexpr std::size_t kMaxFrame = std::size_t{64} << 20U;  // bytes of JSON, both ways

// The next frame; none where the peer closed the connection between two frames. A longer one than kMaxFrame is
// resource_exhausted, one cut short (or a socket that fails) runtime_unavailable: neither leaves a way on. Memory
// grows with what arrives, not with what the length announces.
Result<std::optional<std::string>> read_frame(int fd);

// The payload is at most kMaxFrame bytes.
Status write_frame(int fd, std::string_view payload);

}  // namespace krt::worker
