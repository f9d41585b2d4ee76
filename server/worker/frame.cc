#include "server/worker/frame.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace krt::worker {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20U;
using Length = std::array<unsigned char, 4>;

Status broken(std::string_view what) { return {Reason::kRuntimeUnavailable, std::string(what)}; }

// Fills [data, data + n); how much of it came before the peer closed.
Result<std::size_t> read_up_to(int fd, char* data, std::size_t n) {
  std::size_t got = 0;
  while (got < n) {
    const ssize_t r = ::recv(fd, data + got, n - got, 0);
    if (r < 0 && errno == EINTR) continue;
    if (r < 0) return broken(std::strerror(errno));
    if (r == 0) break;
    got += static_cast<std::size_t>(r);
  }
  return got;
}

}  // namespace

Result<std::optional<std::string>> read_frame(int fd) {
  Length length{};
  Result<std::size_t> got = read_up_to(fd, reinterpret_cast<char*>(length.data()), length.size());
  if (!got.ok()) return got.status();
  if (*got == 0) return std::optional<std::string>();
  if (*got < length.size()) return broken("the frame was cut short in its length");
  const std::size_t bytes = std::size_t{length[0]} << 24U | length[1] << 16U | length[2] << 8U | length[3];
  if (bytes > kMaxFrame)
    return Status(Reason::kResourceExhausted,
                  "a frame of " + std::to_string(bytes) + " bytes is over the limit of " + std::to_string(kMaxFrame));
  std::string payload;
  while (payload.size() < bytes) {
    const std::size_t before = payload.size();
    payload.resize(std::min(bytes, before + kChunk));
    got = read_up_to(fd, payload.data() + before, payload.size() - before);
    if (!got.ok()) return got.status();
    if (before + *got < payload.size()) return broken("the frame was cut short");
  }
  return std::optional(std::move(payload));
}

Status write_frame(int fd, std::string_view payload) {
  const auto n = static_cast<std::uint32_t>(payload.size());
  std::string bytes{static_cast<char>(n >> 24U), static_cast<char>(n >> 16U), static_cast<char>(n >> 8U),
                    static_cast<char>(n)};
  bytes += payload;
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t w = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (w < 0 && errno == EINTR) continue;
    if (w < 0) return broken(std::strerror(errno));
    rest.remove_prefix(static_cast<std::size_t>(w));
  }
  return {};
}

}  // namespace krt::worker
