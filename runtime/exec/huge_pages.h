#pragma once
// HugePages: memory for large buffers that are read as streams (KV caches, weights), where with 4 KiB pages the
// machine's translation buffer is what limits the speed. Zero until it is written; pages come with the first touch.

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>

namespace krt {

class HugePages {
 public:
  HugePages() = default;
  // Throws std::bad_alloc where the memory is not to be had. Huge pages are asked for, not required.
  explicit HugePages(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
    madvise(data_, bytes_, MADV_HUGEPAGE);
  }
  HugePages(HugePages&& other) noexcept
      : bytes_(std::exchange(other.bytes_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  HugePages& operator=(HugePages&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~HugePages() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
  void* data_ = nullptr;
};

}  // namespace krt
