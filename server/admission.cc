#include "server/admission.h"

#include <algorithm>
#include <string>

namespace krt {

Status Admission::enter(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (closed_) return {Reason::kRuntimeUnavailable, "the server is shutting down and takes no new calls"};
  if (count_ >= max_count_)
    return {Reason::kResourceExhausted,
            std::to_string(count_) + " calls are in flight, the server's limit (max_in_flight); try again later"};
  if (bytes > max_bytes_ - std::min(bytes_, max_bytes_))
    return {Reason::kResourceExhausted,
            "a request of " + std::to_string(bytes) + " bytes is over what is left of the server's limit of " +
                std::to_string(max_bytes_) + " bytes in flight (max_in_flight_bytes); try again later"};
  ++count_;
  bytes_ += bytes;
  return {};
}

void Admission::enter_always(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  ++count_;
  bytes_ += bytes;
}

void Admission::add(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ += bytes;
}

void Admission::leave(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ -= bytes;
  if (--count_ == 0) idle_.notify_all();
}

void Admission::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool Admission::wait_idle(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return idle_.wait_until(lock, deadline, [this] { return count_ == 0; });
}

Admission::InFlight Admission::in_flight() const {
  const std::lock_guard lock(mutex_);
  return {count_, bytes_};
}

}  // namespace krt
