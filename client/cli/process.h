#pragma once
// A child process whose standard output is read: the server that `krt demo` starts.

#include <sys/types.h>

#include <string>
#include <vector>

namespace krt::cli {

class Child {
 public:
  // Starts this very program with `arguments`. Throws std::system_error.
  explicit Child(const std::vector<std::string>& arguments);
  ~Child();  // ends it by SIGTERM, if it still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Its next line of standard output, without the newline; empty at the end.
  std::string read_line();
  // SIGTERM, then its exit status (128 + the signal that ended it).
  int terminate();

 private:
  pid_t pid_ = 0;
  int output_ = -1;
};

}  // namespace krt::cli
