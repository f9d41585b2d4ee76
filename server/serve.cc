#include "server/serve.h"

#include <malloc.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>

#include "server/server.h"

namespace krt {
namespace {

constexpr std::chrono::seconds kGrace{10};

// An eventfd that both signals and the end of draining wake; signal handlers can reach nothing but a global.
std::atomic<int> wake_fd{-1};
std::atomic<int> signals_seen{0};

void wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_fd, &one, sizeof one));
}

void on_signal(int) {
  ++signals_seen;
  wake();
}

// Signals go to on_signal while it lives.
class StopSignals {
 public:
  StopSignals() {
    wake_fd = eventfd(0, EFD_CLOEXEC);
    signals_seen = 0;
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGTERM, &action, &old_term_);
    sigaction(SIGINT, &action, &old_int_);
  }
  ~StopSignals() {
    sigaction(SIGTERM, &old_term_, nullptr);
    sigaction(SIGINT, &old_int_, nullptr);
    close(wake_fd.exchange(-1));
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Until something wakes us, or `limit` passed (false).
  bool wait(std::chrono::milliseconds limit) {
    pollfd waiting{wake_fd, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(limit.count())) <= 0) return false;
    std::uint64_t count = 0;
    return read(wake_fd, &count, sizeof count) == sizeof count;
  }

 private:
  struct sigaction old_term_ {
  }, old_int_{};
};

int drain(Server& server, StopSignals& signals, std::chrono::milliseconds limit) {
  std::atomic<bool> done = false;  // set before wake(): the future is ready only some time after it
  std::future<bool> drained = std::async(std::launch::async, [&] {
    const bool all = server.drain();
    done = true;
    wake();
    return all;
  });
  std::future<void> hurry;
  while (!done) {
    if (signals_seen > 1 && !hurry.valid()) hurry = std::async(std::launch::async, [&] { server.shutdown(); });
    if (signals.wait(limit) || done) continue;
    std::fputs("krt serve: calls in flight do not end; giving up\n", stderr);
    std::_Exit(EXIT_FAILURE);
  }
  return drained.get() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

void tune_process() {
  // The first touch of a page costs far more than copying it, so that memory is not given back between large messages:
  // a 16 MiB echo took 277 ms with glibc's defaults and 17 ms with these (docs/performance.md).
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
  mallopt(M_ARENA_MAX, 2);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

int serve(RuntimeApi& runtime, const ServerOptions& options) {
  tune_process();
  StopSignals signals;
  Result<std::unique_ptr<Server>> server = Server::start(runtime, options);
  if (!server.ok()) {
    std::fprintf(stderr, "krt serve: %s\n", server.status().message().c_str());
    return EXIT_FAILURE;
  }
  std::printf("listening on %s\n", (*server)->address().c_str());
  std::fflush(stdout);
  while (signals_seen == 0) signals.wait(std::chrono::milliseconds(-1));
  return drain(**server, signals, options.lame_duck + options.drain + kGrace);
}

}  // namespace krt
