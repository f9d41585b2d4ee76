#pragma once
// Listener: the socket and the thread that accepts connections and hands them to gRPC.
//
// gRPC's own listener is not used for three reasons: it never accepts again once the process ran out of file
// descriptors; it shares a port with another server silently (SO_REUSEPORT); and it says only that a bind failed, not
// why.

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "runtime/core/status.h"
#include "server/log.h"

namespace krt {

// Closes what it holds.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();
  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

class Listener {
 public:
  // Binds and listens. invalid_arguments: `address` is none, or not loopback and `allow_remote` is false;
  // failed_precondition: it cannot be had, for instance because another server is there.
  static Result<std::unique_ptr<Listener>> open(const std::string& address, bool allow_remote, Log log);
  ~Listener() { stop(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] const std::string& address() const { return address_; }  // "127.0.0.1:43125", "[::1]:43125"
  [[nodiscard]] int socket() const { return socket_.get(); }

  // Calls `on_connection` with every accepted socket (non-blocking, its own to close) until stop().
  void start(std::function<void(int fd)> on_connection);
  void stop();

 private:
  Listener(FileDescriptor socket, Log log);
  void accept_all(const std::function<void(int fd)>& on_connection);
  [[nodiscard]] bool stopped_within(int milliseconds) const;

  FileDescriptor socket_, stop_;
  std::string address_;
  int port_ = 0;
  Log log_;
  std::thread thread_;
};

}  // namespace krt
