#include "server/listener.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <vector>

namespace krt {
namespace {

// A log that wakes a test at its first line.
class FirstLine final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::future<std::string> text() { return first_.get_future(); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!std::exchange(seen_, true)) first_.set_value({message.payload.data(), message.payload.size()});
  }
  void flush_() override {}
  std::promise<std::string> first_;
  bool seen_ = false;
};

std::unique_ptr<Listener> open_listener(const std::string& address = "127.0.0.1:0", Log log = make_log("off")) {
  Result<std::unique_ptr<Listener>> listener = Listener::open(address, false, std::move(log));
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  return listener.ok() ? std::move(*listener) : nullptr;
}

int connect_to(int port, int fd) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

TEST(Listener, HandsOverConnections) {
  const auto listener = open_listener();
  EXPECT_EQ(listener->address(), "127.0.0.1:" + std::to_string(listener->port()));
  std::promise<int> accepted;
  listener->start([&](int fd) { accepted.set_value(fd); });
  const FileDescriptor client(::socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(connect_to(listener->port(), client.get()), 0);
  const FileDescriptor served(accepted.get_future().get());
  EXPECT_NE(fcntl(served.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::write(client.get(), "x", 1), 1);
}

TEST(Listener, ServesAgainOnceDescriptorsAreFree) {
  const auto sink = std::make_shared<FirstLine>();
  std::future<std::string> starved = sink->text();
  const auto listener = open_listener("127.0.0.1:0", std::make_shared<spdlog::logger>("test", sink));
  std::promise<int> accepted;
  listener->start([&](int fd) { accepted.set_value(fd); });
  const FileDescriptor client(::socket(AF_INET, SOCK_STREAM, 0));
  // UBSan looks at a class the first time that it sees it through a pipe: it has seen the log's before there is none.
  spdlog::logger("test", std::make_shared<FirstLine>()).warn("{}", "seen");

  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{256, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  std::vector<FileDescriptor> hogs;
  for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) hogs.emplace_back(fd);
  ASSERT_EQ(errno, EMFILE);
  ASSERT_EQ(connect_to(listener->port(), client.get()), 0);  // waits in the backlog
  EXPECT_EQ(starved.get(), "event=accept_failed error=\"Too many open files\"");
  hogs.clear();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_GE(FileDescriptor(accepted.get_future().get()).get(), 0);
}

TEST(Listener, StopEndsAcceptingAndFreesThePort) {
  auto first = open_listener();
  const std::string address = first->address();
  first->start([](int fd) { ::close(fd); });
  EXPECT_EQ(Listener::open(address, false, make_log("off")).status().reason(), Reason::kFailedPrecondition);
  first->stop();
  first->stop();
  EXPECT_NE(open_listener(address), nullptr);
}

TEST(Listener, TakesLoopbackAddressesOnly) {
  for (const char* address : {"127.0.0.1:0", "127.8.8.8:0", "localhost:0"}) EXPECT_NE(open_listener(address), nullptr);
  for (const char* address : {"0.0.0.0:0", "[::]:0"})
    EXPECT_EQ(Listener::open(address, false, make_log("off")).status().reason(), Reason::kInvalidArguments) << address;
}

TEST(Listener, RefusesWhatIsNoAddress) {
  for (const char* address : {"", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:-1",
                              "127.0.0.1:65536", "127.0.0.1:123456", "no such host:80"})
    EXPECT_EQ(Listener::open(address, false, make_log("off")).status().reason(), Reason::kInvalidArguments) << address;
}

}  // namespace
}  // namespace krt
