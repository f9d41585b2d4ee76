#pragma once
// GuardedBuffer<T>: n elements that end at a page nobody may touch (and, aligned to T, start right after one), so
// that a kernel which reads or writes one element too far dies in the test instead of passing.

#include <cstddef>
#include <span>
#include <vector>

namespace krt::testing {

namespace detail {
void* map_guarded(std::size_t bytes, bool at_front);
void unmap_guarded(void* data, std::size_t bytes);
}  // namespace detail

enum class Guard { kAfter, kBefore };  // which end is flush with the forbidden page; the other is near it

template <class T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t n, Guard guard = Guard::kAfter)
      : data_(static_cast<T*>(detail::map_guarded(n * sizeof(T), guard == Guard::kBefore))), n_(n) {}
  explicit GuardedBuffer(std::span<const T> values, Guard guard = Guard::kAfter) : GuardedBuffer(values.size(), guard) {
    for (std::size_t i = 0; i < n_; ++i) data_[i] = values[i];
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer() { detail::unmap_guarded(data_, n_ * sizeof(T)); }

  std::span<T> span() { return {data_, n_}; }
  std::span<const T> cspan() const { return {data_, n_}; }
  T* data() { return data_; }
  std::vector<T> copy() const { return std::vector<T>(data_, data_ + n_); }

 private:
  T* data_;
  std::size_t n_;
};

}  // namespace krt::testing
