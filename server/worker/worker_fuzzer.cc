// Any bytes on the worker's socket: each frame gets an answer that is JSON, or the connection ends.
// The first byte says whether the rest is the stream itself or the JSON of one frame.

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "modules/builtin.h"
#include "runtime/codec/json.h"
#include "server/worker/dialogue.h"
#include "server/worker/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLongest = 1U << 16U;  // fits the socket's buffer: nobody reads while we write
  static krt::Runtime runtime(krt::builtin_registry(), {.threads = 1});
  if (size == 0 || size > kLongest) return 0;
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) std::abort();
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0)
    static_cast<void>(::send(ends[0], bytes.data(), bytes.size(), MSG_NOSIGNAL));
  else if (!krt::worker::write_frame(ends[0], bytes).ok())
    std::abort();
  ::shutdown(ends[0], SHUT_WR);
  for (;;) {
    const krt::Result<std::optional<std::string>> frame = krt::worker::read_frame(ends[1]);
    if (!frame.ok() || !frame->has_value()) break;
    const krt::worker::Reply reply = krt::worker::answer(runtime, **frame);
    if (!krt::parse_json(reply.json).ok() || reply.json.size() > krt::worker::kMaxFrame) std::abort();
  }
  ::close(ends[0]);
  ::close(ends[1]);
  return 0;
}
