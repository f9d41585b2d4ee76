#pragma once
// Arena: the threads that kernels share. One TBB arena per runtime, sized at construction.
//
// Work is split into a number of parts that the caller fixes, so that what a part computes, and therefore the
// bits of a result, never depend on how many threads happen to run.

#include <cstddef>
#include <memory>
#include <type_traits>

namespace krt {

class Arena {
 public:
  // threads < 1: as many as the machine has. One thread computes in the caller.
  explicit Arena(int threads = 0);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] int threads() const { return threads_; }

  // Calls body(part) for every part in [0, parts), in any order, from up to threads() threads; returns when all
  // are done. The first exception of a body is rethrown.
  template <class Body>
  void parallel(std::size_t parts, const Body& body) {
    if (threads_ == 1 || parts <= 1) {
      for (std::size_t part = 0; part < parts; ++part) body(part);
      return;
    }
    run(parts, &body, [](const void* b, std::size_t part) { (*static_cast<const Body*>(b))(part); });
  }

 private:
  using Call = void (*)(const void* body, std::size_t part);
  void run(std::size_t parts, const void* body, Call call);

  struct Impl;
  int threads_;
  std::unique_ptr<Impl> impl_;
};

// The half-open range of [0, n) that `part` of `parts` equal parts covers; bounds are multiples of `grain`
// (but for n itself).
struct Range {
  std::size_t begin, end;
};
constexpr Range band(std::size_t n, std::size_t parts, std::size_t part, std::size_t grain = 1) {
  const std::size_t grains = (n + grain - 1) / grain;
  const std::size_t begin = grains * part / parts * grain;
  const std::size_t end = grains * (part + 1) / parts * grain;
  return {begin < n ? begin : n, end < n ? end : n};
}

}  // namespace krt
