#include "server/worker/worker.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <barrier>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "modules/builtin.h"
#include "runtime/testing/temp_dir.h"
#include "server/worker/frame.h"

namespace krt::worker {
namespace {

constexpr std::string_view kPing = R"({"type":"ping"})";
constexpr std::string_view kPong = R"({"status":"ok"})";

// A connection to a worker, or one end of a pair.
class Peer {
 public:
  explicit Peer(int fd) : fd_(fd) {}
  explicit Peer(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() { ::close(fd_); }

  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] int fd() const { return fd_; }
  void send_raw(std::string_view bytes) const {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
  }
  void send(std::string_view json) const { EXPECT_TRUE(write_frame(fd_, json).ok()); }
  void end_sending() const { ::shutdown(fd_, SHUT_WR); }
  // The next frame; "<closed>" where the worker closed the connection.
  [[nodiscard]] std::string receive() const {
    Result<std::optional<std::string>> frame = read_frame(fd_);
    if (!frame.ok()) return "<" + frame.status().message() + ">";
    return frame->value_or("<closed>");
  }
  std::string ask(std::string_view json) const {
    send(json);
    return receive();
  }

 private:
  int fd_;
  bool connected_ = true;
};

class WorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Worker>> worker = Worker::listen(runtime_, path_);
    ASSERT_TRUE(worker.ok()) << worker.status().message();
    worker_ = std::move(*worker);
    server_ = std::thread([this] { worker_->serve(); });
  }
  void TearDown() override {
    if (worker_ != nullptr) worker_->stop();
    if (server_.joinable()) server_.join();
  }

  testing::TempDir dir_;
  const std::string path_ = dir_.file("worker.sock");
  Runtime runtime_{builtin_registry(), {.threads = 2}};
  std::unique_ptr<Worker> worker_;
  std::thread server_;
};

TEST_F(WorkerTest, SaysReadyAndAnswersInOrder) {
  const Peer peer(path_);
  EXPECT_EQ(peer.receive(), R"({"status":"ready"})");
  peer.send(kPing);
  peer.send(R"({"type":"library_execute","module":"llmk.contract","function":"llmk_status_name","args":[560]})");
  EXPECT_EQ(peer.receive(), kPong);
  EXPECT_EQ(peer.receive(), R"({"result":"llmk_ok"})");
}

TEST_F(WorkerTest, BadFramesEndTheirConnectionAtMost) {
  const Peer healthy(path_);
  EXPECT_EQ(healthy.receive(), R"({"status":"ready"})");
  const struct {
    std::string_view bytes;
    std::string_view reply;  // how the answer begins
    bool stays_open;
  } rows[] = {
      {{"\0\0\0\0", 4}, R"({"error":"malformed JSON)", true},
      {{"\0\0\0\3}{!", 7}, R"({"error":"malformed JSON)", true},
      {{"\0\0\0\2\xff\xfe", 6}, R"({"error":"malformed JSON)", true},
      {"\xff\xff\xff\xff", R"({"error":"a frame of 4294967295 bytes is over the limit)", false},
      {{"\4\0\0\1", 4}, R"({"error":"a frame of 67108865 bytes is over the limit)", false},
      {{"\0\0", 2}, R"({"error":"the frame was cut short in its length)", false},
      {{"\0\0\0\x9{\"ty", 8}, R"({"error":"the frame was cut short)", false},
  };
  for (const auto& row : rows) {
    const Peer peer(path_);
    EXPECT_EQ(peer.receive(), R"({"status":"ready"})");
    peer.send_raw(row.bytes);
    if (!row.stays_open) peer.end_sending();
    EXPECT_TRUE(peer.receive().starts_with(row.reply)) << row.reply;
    EXPECT_EQ(row.stays_open ? peer.ask(kPing) : peer.receive(), row.stays_open ? kPong : "<closed>") << row.reply;
    EXPECT_EQ(healthy.ask(kPing), kPong);
  }
}

TEST_F(WorkerTest, APeerThatLeavesIsForgotten) {
  for (std::size_t i = 0; i < 2 * kMaxConnections; ++i) {
    const Peer peer(path_);
    ASSERT_EQ(peer.receive(), R"({"status":"ready"})") << "after " << i << " peers";
    peer.end_sending();
    EXPECT_EQ(peer.receive(), "<closed>");
  }
}

TEST_F(WorkerTest, ConnectionsAreServedConcurrently) {
  constexpr int kPeers = 8;
  std::barrier together(kPeers);
  std::vector<std::thread> threads;
  for (int i = 0; i < kPeers; ++i)
    threads.emplace_back([&] {
      const Peer peer(path_);
      EXPECT_EQ(peer.receive(), R"({"status":"ready"})");
      together.arrive_and_wait();  // all are open at once
      for (int k = 0; k < 20; ++k)
        EXPECT_EQ(peer.ask(R"({"type":"library_execute","module":"llmk.residual","function":"residual_add_flat",
                               "args":[[1.5],[2.5],1]})"),
                  R"({"result":{"__algenta_struct":"ResidResult","v":[[4.0],1,560]}})");
    });
  for (std::thread& t : threads) t.join();
}

TEST_F(WorkerTest, TheConnectionAfterTheLastIsToldSo) {
  std::list<Peer> peers;
  for (std::size_t i = 0; i < kMaxConnections; ++i) {
    peers.emplace_back(path_);
    EXPECT_EQ(peers.back().receive(), R"({"status":"ready"})");
  }
  const Peer one_more(path_);
  EXPECT_TRUE(one_more.receive().starts_with(R"({"error":"all 64 connections are taken)"));
  EXPECT_EQ(one_more.receive(), "<closed>");
  EXPECT_EQ(peers.front().ask(kPing), kPong);
}

TEST_F(WorkerTest, ShutdownEndsEveryConnectionAndRemovesTheSocket) {
  const Peer idle(path_), closer(path_);
  EXPECT_EQ(idle.receive(), R"({"status":"ready"})");
  EXPECT_EQ(closer.receive(), R"({"status":"ready"})");
  EXPECT_EQ(closer.ask(R"({"type":"shutdown"})"), R"({"status":"bye"})");
  EXPECT_EQ(closer.receive(), "<closed>");
  EXPECT_EQ(idle.receive(), "<closed>");
  server_.join();
  worker_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(WorkerTest, ALiveSocketIsNotReplaced) {
  const Result<std::unique_ptr<Worker>> second = Worker::listen(runtime_, path_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(), "cannot listen at " + krt::quoted(path_) + ": another process listens there");
  const Peer peer(path_);
  EXPECT_EQ(peer.receive(), R"({"status":"ready"})");
}

TEST(WorkerListen, TakesOverAStaleSocketAndOnlyThat) {
  const testing::TempDir dir;
  Runtime runtime(builtin_registry(), {.threads = 1});
  const std::string stale = dir.file("stale.sock");
  {
    const Peer dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, stale.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(dead.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(stale));
  {
    const Result<std::unique_ptr<Worker>> worker = Worker::listen(runtime, stale);
    ASSERT_TRUE(worker.ok()) << worker.status().message();
    EXPECT_EQ(std::filesystem::status(stale).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  const std::string file = dir.file("file");
  std::ofstream(file) << "precious";
  for (const std::string& path : {file, dir.file("missing/x.sock"), std::string(), std::string(200, 'x')})
    EXPECT_FALSE(Worker::listen(runtime, path).ok()) << path;
  EXPECT_EQ(std::filesystem::file_size(file), 8U);
}

}  // namespace
}  // namespace krt::worker
