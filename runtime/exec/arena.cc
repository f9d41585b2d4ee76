#include "runtime/exec/arena.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <thread>

#ifdef KRT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace krt {
namespace {

int machine_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

// What TBB orders: a call's start comes before its parts, and they come before its end. Its library is not compiled
// with TSan, which has to be told; parts are not ordered among themselves.
#ifdef KRT_TSAN
class Ordering {
 public:
  Ordering() { __tsan_release(&start_); }
  ~Ordering() { __tsan_acquire(&end_); }
  class Part {
   public:
    explicit Part(Ordering& call) : call_(call) { __tsan_acquire(&call_.start_); }
    ~Part() { __tsan_release(&call_.end_); }

   private:
    Ordering& call_;
  };

 private:
  char start_ = 0, end_ = 0;  // only their addresses count
};
#else
struct Ordering {
  struct Part {
    explicit Part(Ordering& /*call*/) {}
  };
};
#endif

}  // namespace

struct Arena::Impl {
  explicit Impl(int threads)
      // TBB starts no more threads than the machine has unless it is told to; tests ask for 16 on 2 cores.
      : limit(tbb::global_control::max_allowed_parallelism,
              static_cast<std::size_t>(std::max(threads, machine_threads()))),
        arena(threads) {}
  tbb::global_control limit;
  tbb::task_arena arena;
};

Arena::Arena(int threads)
    : threads_(threads < 1 ? machine_threads() : threads),
      impl_(threads_ > 1 ? std::make_unique<Impl>(threads_) : nullptr) {}

Arena::~Arena() = default;

void Arena::run(std::size_t parts, const void* body, Call call) {
  Ordering ordering;
  const auto run_part = [&](std::size_t part) {
    const Ordering::Part ordered(ordering);
    call(body, part);
  };
  impl_->arena.execute([&] { tbb::parallel_for(std::size_t{0}, parts, run_part, tbb::static_partitioner()); });
}

}  // namespace krt
