#pragma once
// WorkQueue: a bounded queue in front of a fixed number of threads. Kernels run here, never in gRPC's own threads, of
// which there are few and which must stay free for health checks and transport.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace krt {

class Work {
 public:
  virtual void run() = 0;  // must not throw; may delete the object

 protected:
  ~Work() = default;
};

class WorkQueue {
 public:
  WorkQueue(int threads, std::size_t capacity);
  ~WorkQueue();  // runs what is queued, then ends the threads
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // False where the queue is full; the work is not touched then.
  bool push(Work* work);
  // Takes work that is still waiting out of the queue: it will not be run. False where it is not there (any more).
  bool remove(Work* work);
  [[nodiscard]] int threads() const { return static_cast<int>(threads_.size()); }

 private:
  void serve();
  Work* next();

  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Work*> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace krt
