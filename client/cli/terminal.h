#pragma once
// What a long command says and hears while it works.

#include <atomic>
#include <string>

#include "client/cli/program.h"

namespace krt::cli {

// Set by an interrupt (Ctrl-C) while an InterruptGuard lives; the call's CallControl points at it.
extern std::atomic<bool> interrupted;

class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();

 private:
  void (*before_)(int);
};

// On a terminal one line that is written over; elsewhere the end of each stage only. On standard error.
class ProgressLine {
 public:
  explicit ProgressLine(Program& program);
  void show(const std::string& text);
  void done(const std::string& text);

 private:
  Program& program_;
  bool terminal_;
};

// A number with so many digits behind the point.
std::string fixed(double x, int digits);

}  // namespace krt::cli
