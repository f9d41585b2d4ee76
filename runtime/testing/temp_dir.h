#pragma once
// TempDir: a folder of the test's own, removed with all that is in it.

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace krt::testing {

class TempDir {
 public:
  TempDir() : path_((std::filesystem::temp_directory_path() / "krt-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make " + path_);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace krt::testing
