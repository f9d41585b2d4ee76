#include "runtime/exec/arena.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <thread>

namespace krt {
namespace {

int machine_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

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
  impl_->arena.execute([&] {
    tbb::parallel_for(
        std::size_t{0}, parts, [&](std::size_t part) { call(body, part); }, tbb::static_partitioner());
  });
}

}  // namespace krt
