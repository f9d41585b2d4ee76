#include "client/cli/input.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "client/cli/program.h"

namespace krt::cli {

std::string read_all(int fd, const std::string& name) {
  std::string text;
  std::array<char, 1U << 16U> buffer;
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw UsageError("cannot read " + name + ": " + std::strerror(errno));
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace krt::cli
