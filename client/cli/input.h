#pragma once
// What a command reads besides its arguments.

#include <optional>
#include <string>

namespace krt::cli {

// All of a descriptor's bytes; `name` is for the UsageError where it cannot be read.
std::string read_all(int fd, const std::string& name);

// The lines of a descriptor, without their ends, as they come.
class LineReader {
 public:
  LineReader(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  // None at the end. The last line needs no end.
  std::optional<std::string> next();

 private:
  int fd_;
  std::string name_, held_;
};

}  // namespace krt::cli
