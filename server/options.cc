#include "server/options.h"

#include <array>
#include <string_view>

namespace krt {
namespace {

constexpr std::size_t kLargestMessage = std::size_t{1} << 30U;  // protobuf ends at 2 GiB
constexpr std::size_t kSmallestMessage = 4096;
constexpr std::array<std::string_view, 6> kLogLevels{"trace", "debug", "info", "warn", "error", "off"};

Status must(std::string_view option, std::string_view what) {
  return invalid(std::string(option) + " must be " + std::string(what));
}

}  // namespace

Status check(const ServerOptions& o) {
  if (o.max_message_bytes < kSmallestMessage || o.max_message_bytes > kLargestMessage)
    return must("max_message_bytes", "from 4096 to 1073741824");
  if (o.max_in_flight < 1) return must("max_in_flight", "at least 1");
  if (o.max_in_flight_bytes < o.max_message_bytes)
    return must("max_in_flight_bytes", "at least max_message_bytes, or the largest message could never be served");
  if (o.max_queued < 1) return must("max_queued", "at least 1");
  if (o.max_stall.count() < 1) return must("max_stall", "at least 1 ms");
  if (o.worker_threads < 0 || o.worker_threads > 1024) return must("worker_threads", "from 0 to 1024");
  if (o.lame_duck.count() < 0) return must("lame_duck", "no negative time");
  if (o.drain.count() < 0) return must("drain", "no negative time");
  for (const std::string_view level : kLogLevels)
    if (o.log_level == level) return {};
  return must("log_level", "one of trace, debug, info, warn, error, off");
}

}  // namespace krt
