#pragma once
// Worker: serves a runtime on a Unix socket to the public Python client (docs/protocol.md, "The worker").
//
// A thread per connection reads frames and answers them in order; the kernels run in the runtime's arena. What a
// peer does to its connection ends that connection and nothing else.

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "runtime/runtime.h"

namespace krt::worker {

inline constexpr std::size_t kMaxConnections = 64;  // one more is told so and closed

class Worker {
 public:
  // Listens at `path` (mode 0600). A socket that nobody listens at is replaced; a live one, and a file that is no
  // socket, is refused.
  static Result<std::unique_ptr<Worker>> listen(Runtime& runtime, std::string path);
  ~Worker();  // stops, and removes the socket
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Serves until stop() or a shutdown request, then lets every connection finish the request that it is at.
  void serve();
  void stop();  // from any thread, and from a signal handler

 private:
  struct Connection {
    int fd;
    std::atomic<bool> done{false};
    std::thread thread;
  };
  Worker(Runtime& runtime, std::string path, int listener, int wake);
  void accept_one();
  void converse(int fd);
  void reap(bool all);

  Runtime& runtime_;
  const std::string path_;
  const int listener_, wake_;
  std::list<Connection> connections_;  // of the serving thread only
};

}  // namespace krt::worker
