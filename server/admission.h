#pragma once
// Admission: how many calls, and how many bytes of them, are in flight. gRPC bounds neither.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "runtime/core/status.h"

namespace krt {

class Admission {
 public:
  Admission(std::size_t max_count, std::size_t max_bytes) : max_count_(max_count), max_bytes_(max_bytes) {}

  // A call that counts from here to leave() with the same `bytes`. resource_exhausted naming the limit, and nothing
  // counted, where it would go over one.
  Status enter(std::size_t bytes);
  // More bytes of a call that is in: its response, held until the caller has read it.
  void add(std::size_t bytes);
  void leave(std::size_t bytes);
  // A call that is never refused and counts for wait_idle() only: health, inventory.
  void enter_free();
  void leave_free();

  // Calls from now on are refused as compute_runtime_unavailable.
  void close();
  // False where calls were still in flight at `deadline`.
  bool wait_idle(std::chrono::steady_clock::time_point deadline);
  // After close(): until nobody has asked for `quiet`, or `limit` has passed.
  void wait_quiet(std::chrono::milliseconds quiet, std::chrono::milliseconds limit);

  struct InFlight {
    std::size_t count, bytes;
  };
  [[nodiscard]] InFlight in_flight() const;

 private:
  const std::size_t max_count_, max_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::size_t count_ = 0, bytes_ = 0, free_count_ = 0;
  bool closed_ = false;
  std::chrono::steady_clock::time_point last_refused_;  // since it was closed
};

}  // namespace krt
