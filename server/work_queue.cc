#include "server/work_queue.h"

#include <algorithm>

namespace krt {

WorkQueue::WorkQueue(int threads, std::size_t capacity) : capacity_(capacity) {
  threads_.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkQueue::push(Work* work) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= capacity_) return false;
    queue_.push_back(work);
  }
  wake_.notify_one();
  return true;
}

bool WorkQueue::remove(Work* work) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find(queue_.begin(), queue_.end(), work);
  if (at == queue_.end()) return false;
  queue_.erase(at);
  return true;
}

Work* WorkQueue::next() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  if (queue_.empty()) return nullptr;
  Work* work = queue_.front();
  queue_.pop_front();
  return work;
}

void WorkQueue::serve() {
  while (Work* work = next()) work->run();
}

}  // namespace krt
