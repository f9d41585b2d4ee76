#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "client/cli/program.h"

namespace {

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw std::system_error(errno, std::generic_category(), "standard output");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that left is an error of write
  try {
    krt::cli::Program program([](std::string_view text) { write_all(STDOUT_FILENO, text); },
                              [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); });
    return program.run(argc, argv);
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::broken_pipe) return krt::cli::kDone;  // `krt modules | head -1`: seen enough
    std::fprintf(stderr, "krt: %s\n", e.what());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "krt: %s\n", e.what());
  }
  return krt::cli::kFailed;
}
