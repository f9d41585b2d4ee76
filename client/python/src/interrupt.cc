#include "client/python/src/interrupt.h"

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>

namespace krt::python {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");
struct sigaction g_next {};  // what was there before on_interrupt; written before on_interrupt is installed
pthread_t g_main_thread;
Clock::time_point g_checked;

void on_interrupt(int signal, siginfo_t* info, void* context) {
  g_interrupted.store(true, std::memory_order_relaxed);
  if ((g_next.sa_flags & SA_SIGINFO) != 0)
    g_next.sa_sigaction(signal, info, context);
  else if (g_next.sa_handler != SIG_DFL && g_next.sa_handler != SIG_IGN)
    g_next.sa_handler(signal);
}

// signal.signal() replaces whatever is installed, so on_interrupt has to be put back in front. Asking costs a
// system call (0.3 us), so it is done at most every 10 ms.
void install() {
  const Clock::time_point now = Clock::now();
  if (now - g_checked < std::chrono::milliseconds(10)) return;
  g_checked = now;
  struct sigaction current {};
  if (sigaction(SIGINT, nullptr, &current) != 0) return;
  const bool info = (current.sa_flags & SA_SIGINFO) != 0;
  if (info && current.sa_sigaction == on_interrupt) return;
  if (!info && (current.sa_handler == SIG_DFL || current.sa_handler == SIG_IGN)) return;
  g_next = current;
  struct sigaction ours = current;
  ours.sa_sigaction = on_interrupt;
  ours.sa_flags |= SA_SIGINFO;
  sigaction(SIGINT, &ours, nullptr);
}

}  // namespace

const std::atomic<bool>* interrupt_flag() {
  if (pthread_equal(pthread_self(), g_main_thread) == 0) return nullptr;
  install();
  g_interrupted.store(false, std::memory_order_relaxed);
  return &g_interrupted;
}

void raise_if_interrupted(const std::atomic<bool>* flag) {
  if (flag == nullptr || !flag->load(std::memory_order_relaxed)) return;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

void set_main_thread() { g_main_thread = pthread_self(); }

}  // namespace krt::python
