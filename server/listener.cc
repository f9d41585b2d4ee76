#include "server/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace krt {
namespace {

// Host and port of "HOST:PORT" or "[HOST]:PORT"; both empty where it is neither.
struct HostPort {
  std::string host, port;
};
HostPort split(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return {};
  std::string host = address.substr(0, colon);
  std::string port = address.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const bool digits = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  if (host.empty() || !digits || std::stoi(port) > 65535) return {};
  return {host, port};
}

struct FreeAddresses {
  void operator()(addrinfo* a) const { freeaddrinfo(a); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> resolve(const std::string& address) {
  const HostPort at = split(address);
  if (at.host.empty()) return invalid(quoted(address) + " is no address to listen on; one reads HOST:PORT");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(at.host.c_str(), at.port.c_str(), &hints, &found); error != 0)
    return invalid("cannot listen on " + quoted(address) + ": " + gai_strerror(error));
  return Addresses(found);
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return (ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24U) == 127;
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

void enable(int fd, int level, int option) {
  const int one = 1;
  setsockopt(fd, level, option, &one, sizeof one);
}

Result<FileDescriptor> bind_to(const addrinfo& a, const std::string& address) {
  FileDescriptor fd(::socket(a.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  enable(fd.get(), SOL_SOCKET, SO_REUSEADDR);  // a port whose last connections are in TIME_WAIT is free
  enable(fd.get(), IPPROTO_TCP, TCP_NODELAY);  // accepted sockets inherit it
  if (::bind(fd.get(), a.ai_addr, a.ai_addrlen) == 0 && ::listen(fd.get(), SOMAXCONN) == 0) return fd;
  const int error = errno;
  std::string text = "cannot listen on " + address + ": " + std::strerror(error);
  if (error == EADDRINUSE) text += "; another server runs there, choose another port or stop it";
  return Status(Reason::kFailedPrecondition, std::move(text));
}

std::string text_of(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  getnameinfo(address, length, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  const bool six = address->sa_family == AF_INET6;
  return (six ? "[" : "") + std::string(host.data()) + (six ? "]:" : ":") + port.data();
}

bool out_of_resources(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

constexpr int kRetryMilliseconds = 20;

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::unique_ptr<Listener>> Listener::open(const std::string& address, bool allow_remote, Log log) {
  Result<Addresses> found = resolve(address);
  if (!found.ok()) return found.status();
  const addrinfo& first = **found;
  if (!allow_remote && !is_loopback(first.ai_addr))
    return invalid(address + " can be reached from other machines, and nothing on the wire is encrypted or " +
                   "authenticated; set allow_remote (krt serve --allow-remote) if that is meant");
  Result<FileDescriptor> socket = bind_to(first, address);
  if (!socket.ok()) return socket.status();
  return std::unique_ptr<Listener>(new Listener(std::move(*socket), std::move(log)));
}

Listener::Listener(FileDescriptor socket, Log log)
    : socket_(std::move(socket)), stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), log_(std::move(log)) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  auto* address = reinterpret_cast<sockaddr*>(&bound);
  getsockname(socket_.get(), address, &length);
  address_ = text_of(address, length);
  port_ = std::stoi(address_.substr(address_.rfind(':') + 1));
}

void Listener::start(std::function<void(int fd)> on_connection) {
  thread_ = std::thread([this, on_connection = std::move(on_connection)] { accept_all(on_connection); });
}

void Listener::stop() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
  socket_ = FileDescriptor();
}

bool Listener::stopped_within(int milliseconds) const {
  pollfd waiting{stop_.get(), POLLIN, 0};
  return ::poll(&waiting, 1, milliseconds) > 0;
}

void Listener::accept_all(const std::function<void(int fd)>& on_connection) {
  bool starved = false;
  std::array<pollfd, 2> waiting{pollfd{socket_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
  while (true) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    if (waiting[1].revents != 0) return;
    const int fd = ::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      starved = false;
      on_connection(fd);
    } else if (out_of_resources(errno)) {
      // The connection waits in the backlog until a descriptor is free.
      if (!std::exchange(starved, true)) log_->warn("event=accept_failed error=\"{}\"", std::strerror(errno));
      if (stopped_within(kRetryMilliseconds)) return;
    }
  }
}

}  // namespace krt
