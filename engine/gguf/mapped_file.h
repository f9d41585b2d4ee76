#pragma once
// MappedFile: a regular file's bytes, mapped read-only.
//
// A file may shrink while it is mapped, and reading past its new end raises SIGBUS. The first MappedFile installs a
// handler that, for addresses in one of our mappings only, puts a page of zeros there and marks the file damaged;
// every other SIGBUS goes to the handler that was there before. Readers ask damaged() after they have read.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/core/status.h"

namespace krt::engine {

class MappedFile {
 public:
  // Refuses what is no regular file (a FIFO, a device, a folder) and what cannot be read. At most 256 files at a time.
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  [[nodiscard]] bool damaged() const;

 private:
  MappedFile(const std::uint8_t* data, std::size_t size, int slot) : data_(data), size_(size), slot_(slot) {}
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  int slot_ = -1;  // in the handler's table
};

}  // namespace krt::engine
