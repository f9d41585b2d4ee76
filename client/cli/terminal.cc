#include "client/cli/terminal.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

namespace krt::cli {

std::atomic<bool> interrupted{false};

InterruptGuard::InterruptGuard() : before_(std::signal(SIGINT, [](int) { interrupted = true; })) {
  interrupted = false;
}
InterruptGuard::~InterruptGuard() { std::signal(SIGINT, before_); }

ProgressLine::ProgressLine(Program& program) : program_(program), terminal_(::isatty(STDERR_FILENO) == 1) {}
void ProgressLine::show(const std::string& text) {
  if (terminal_) program_.note("\r\033[K" + text);
}
void ProgressLine::done(const std::string& text) { program_.note((terminal_ ? "\r\033[K" : "") + text + "\n"); }

std::string fixed(double x, int digits) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, x);
  return text.data();
}

}  // namespace krt::cli
