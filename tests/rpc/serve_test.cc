// serve() as a process: its first line, its signals, its exit status.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/rpc/rpc_testing.h"

namespace krt::testing {
namespace {

class Process {
 public:
  explicit Process(const std::string& listen = "127.0.0.1:0") {
    int out[2], err[2];
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(err, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    std::string program = KRT_SERVE_PROGRAM, address = listen;
    char* const argv[] = {program.data(), address.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(err[1]);
    out_ = fdopen(out[0], "r");
    err_ = fdopen(err[0], "r");
  }
  ~Process() {
    if (pid_ > 0) kill(pid_, SIGKILL), exit_status();
    fclose(out_);
    fclose(err_);
  }

  void signal(int number) const { kill(pid_, number); }
  int exit_status() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string line() { return read_line(out_); }
  std::string error_line() { return read_line(err_); }

  // After "listening on ".
  std::string address() {
    const std::string first = line(), prefix = "listening on ";
    EXPECT_TRUE(first.starts_with(prefix)) << first << error_line();
    return first.substr(std::min(prefix.size(), first.size()));
  }

 private:
  static std::string read_line(FILE* file) {
    std::string text;
    for (int c = fgetc(file); c != EOF && c != '\n'; c = fgetc(file)) text += static_cast<char>(c);
    return text;
  }
  pid_t pid_ = -1;
  FILE *out_ = nullptr, *err_ = nullptr;
};

class Serve : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Signals, Serve, ::testing::Values(SIGTERM, SIGINT));

TEST_P(Serve, SaysWhereItListensServesAndStopsOnASignal) {
  Process process;
  RemoteOptions options;
  options.address = process.address();
  RemoteRuntime remote(options);
  EXPECT_TRUE(identical(remote.execute("t", "echo", 42).result, 42));
  process.signal(GetParam());
  EXPECT_EQ(process.exit_status(), 0);
  EXPECT_EQ(process.error_line(), "");
  EXPECT_EQ(remote.execute("t", "echo", 42).error.reason(), Reason::kRuntimeUnavailable);
}

TEST_P(Serve, ASecondSignalEndsItWithCallsInFlight) {
  Process process;
  RemoteOptions options;
  options.address = process.address();
  RemoteRuntime remote(options);
  auto blocked = std::async(std::launch::async, [&] { return remote.execute("t", "block", List{payload(1)}); });
  wait_in_flight(options.address, 1);
  process.signal(GetParam());
  // Refused calls show that the first signal was understood; the one in flight keeps the process waiting.
  while (remote.execute("t", "count").success()) {
  }
  process.signal(GetParam());
  EXPECT_FALSE(blocked.get().success());
  EXPECT_EQ(process.exit_status(), 1);
}

TEST(ServeFailure, APortInUseIsOneLineAndStatusOne) {
  Process first;
  const std::string address = first.address();
  Process second(address);
  EXPECT_EQ(second.line(), "");
  EXPECT_EQ(second.error_line(), "krt serve: cannot listen on " + address +
                                     ": Address already in use; another server runs there, choose another port or "
                                     "stop it");
  EXPECT_EQ(second.exit_status(), 1);
}

}  // namespace
}  // namespace krt::testing
