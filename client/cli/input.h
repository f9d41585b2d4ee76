#pragma once
// What a command reads besides its arguments.

#include <string>

namespace krt::cli {

// All of a descriptor's bytes; `name` is for the UsageError where it cannot be read.
std::string read_all(int fd, const std::string& name);

}  // namespace krt::cli
