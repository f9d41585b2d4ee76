#include "client/cli/input.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "client/cli/program.h"

namespace krt::cli {

namespace {

// Adds what there is to read; false at the end.
bool read_more(int fd, const std::string& name, std::string& text) {
  std::array<char, 1U << 16U> buffer;
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw UsageError("cannot read " + name + ": " + std::strerror(errno));
    text.append(buffer.data(), static_cast<std::size_t>(n));
    return n > 0;
  }
}

}  // namespace

std::string read_all(int fd, const std::string& name) {
  std::string text;
  while (read_more(fd, name, text)) {
  }
  return text;
}

std::optional<std::string> LineReader::next() {
  std::size_t end = 0;
  while ((end = held_.find('\n')) == std::string::npos)
    if (!read_more(fd_, name_, held_)) {
      if (held_.empty()) return std::nullopt;
      held_ += '\n';
    }
  std::string line = held_.substr(0, end);
  held_.erase(0, end + 1);
  return line;
}

}  // namespace krt::cli
