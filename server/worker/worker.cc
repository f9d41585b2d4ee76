#include "server/worker/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "server/worker/dialogue.h"
#include "server/worker/frame.h"

namespace krt::worker {
namespace {

constexpr timeval kSendTimeout{30, 0};  // a peer that reads nothing for so long is gone

Status refused(const std::string& path, std::string_view why) {
  return {Reason::kFailedPrecondition, "cannot listen at " + quoted(path) + ": " + std::string(why)};
}

// Owns a descriptor until release().
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Descriptor unix_socket(int flags = 0) { return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)); }

// Makes way at `path`: removes a socket that nobody listens at.
Status clear(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return errno == ENOENT ? Status() : refused(path, std::strerror(errno));
  if (!S_ISSOCK(info.st_mode)) return refused(path, "a file that is no socket is there");
  const Descriptor probe = unix_socket(SOCK_NONBLOCK);
  const bool connected = ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (connected || errno == EAGAIN) return refused(path, "another process listens there");  // EAGAIN: its queue is full
  if (errno != ECONNREFUSED) return refused(path, std::strerror(errno));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return refused(path, std::strerror(errno));
  return {};
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::listen(Runtime& runtime, std::string path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path || path.find('\0') != path.npos)
    return refused(path, "the path must have 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes");
  std::memcpy(address.sun_path, path.data(), path.size());
  if (Status blocked = clear(path, address); !blocked.ok()) return blocked;
  Descriptor listener = unix_socket(), wake(::eventfd(0, EFD_CLOEXEC));
  if (::fchmod(listener.get(), S_IRUSR | S_IWUSR) != 0 ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0 || wake.get() < 0)
    return refused(path, std::strerror(errno));
  return std::unique_ptr<Worker>(new Worker(runtime, std::move(path), listener.release(), wake.release()));
}

Worker::Worker(Runtime& runtime, std::string path, int listener, int wake)
    : runtime_(runtime), path_(std::move(path)), listener_(listener), wake_(wake) {}

Worker::~Worker() {
  reap(true);
  ::unlink(path_.c_str());
  ::close(listener_);
  ::close(wake_);
}

void Worker::stop() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

void Worker::serve() {
  std::array<pollfd, 2> ready{{{listener_, POLLIN, 0}, {wake_, POLLIN, 0}}};
  for (;;) {
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;  // EINTR
    if (ready[1].revents != 0) break;
    accept_one();
    reap(false);
  }
  reap(true);
}

void Worker::accept_one() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) {  // the peer left; or no descriptor is free, and the queue stays ready: ask again a little later
    if (errno == EMFILE || errno == ENFILE) ::poll(nullptr, 0, 50);
    return;
  }
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof kSendTimeout);
  if (connections_.size() >= kMaxConnections) {
    const std::string limit = std::to_string(kMaxConnections);
    (void)write_frame(fd, error_message({Reason::kResourceExhausted, "all " + limit + " connections are taken"}));
    ::close(fd);
    return;
  }
  Connection& connection = connections_.emplace_back();
  connection.fd = fd;
  connection.thread = std::thread([this, &connection] {
    try {
      converse(connection.fd);
    } catch (const std::exception& e) {  // out of memory in a frame's own text
      (void)write_frame(connection.fd, error_message({Reason::kResourceExhausted, e.what()}));
    }
    ::shutdown(connection.fd, SHUT_RDWR);
    connection.done = true;
  });
}

void Worker::converse(int fd) {
  bool open = write_frame(fd, ready_message()).ok();
  while (open) {
    Result<std::optional<std::string>> request = read_frame(fd);
    if (!request.ok()) (void)write_frame(fd, error_message(request.status()));
    if (!request.ok() || !request->has_value()) return;
    const Reply reply = answer(runtime_, **request);
    open = write_frame(fd, reply.json).ok() && !reply.shutdown;
    if (reply.shutdown) stop();
  }
}

// Joins the connections that ended; with `all` every one, after the request that it is at.
void Worker::reap(bool all) {
  if (all)
    for (const Connection& c : connections_) ::shutdown(c.fd, SHUT_RD);
  connections_.remove_if([all](Connection& c) {
    if (!all && !c.done) return false;
    c.thread.join();
    ::close(c.fd);
    return true;
  });
}

}  // namespace krt::worker
