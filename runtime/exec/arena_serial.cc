// Arena without TBB (KRT_TBB=OFF): the same parts, one behind the other in the calling thread.

#include <algorithm>
#include <thread>

#include "runtime/exec/arena.h"

namespace krt {

struct Arena::Impl {};

Arena::Arena(int threads)
    : threads_(threads < 1 ? std::max(1, static_cast<int>(std::thread::hardware_concurrency())) : threads) {}

Arena::~Arena() = default;

void Arena::run(std::size_t parts, const void* body, Call call) {
  for (std::size_t part = 0; part < parts; ++part) call(body, part);
}

}  // namespace krt
