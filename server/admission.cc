#include "server/admission.h"

#include <algorithm>
#include <string>

namespace krt {

using Clock = std::chrono::steady_clock;

Status Admission::enter(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    last_refused_ = Clock::now();
    return {Reason::kRuntimeUnavailable, "the server is shutting down and takes no new calls"};
  }
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

void Admission::add(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ += bytes;
}

void Admission::leave(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ -= bytes;
  --count_;
  idle_.notify_all();
}

void Admission::enter_free() {
  const std::lock_guard lock(mutex_);
  ++free_count_;
}

void Admission::leave_free() {
  const std::lock_guard lock(mutex_);
  --free_count_;
  idle_.notify_all();
}

void Admission::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  last_refused_ = Clock::now();
}

bool Admission::wait_idle(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return idle_.wait_until(lock, deadline, [this] { return count_ + free_count_ == 0; });
}

void Admission::wait_quiet(std::chrono::milliseconds quiet, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  const Clock::time_point end = Clock::now() + limit;
  for (auto until = last_refused_ + quiet; Clock::now() < std::min(until, end); until = last_refused_ + quiet)
    idle_.wait_until(lock, std::min(until, end));
}

Admission::InFlight Admission::in_flight() const {
  const std::lock_guard lock(mutex_);
  return {count_, bytes_};
}

}  // namespace krt
