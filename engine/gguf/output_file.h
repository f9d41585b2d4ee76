#pragma once
// OutputFile: a file that appears whole or not at all. It is written under another name in the same folder and renamed
// when it is complete; without that, what was written is removed.

#include <cstdint>
#include <span>
#include <string>

#include "runtime/core/status.h"

namespace krt::engine {

class OutputFile {
 public:
  // Refused: a path that exists, unless `overwrite`; one that is no regular file; one that cannot be written.
  static Result<OutputFile> create(const std::string& path, bool overwrite);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status write(std::span<const std::uint8_t> bytes);
  Status write_zeros(std::uint64_t count);
  // On the disk, under its own name.
  Status commit();
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  OutputFile(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

  std::string path_, temporary_;
  int fd_;
  std::uint64_t size_ = 0;
};

}  // namespace krt::engine
