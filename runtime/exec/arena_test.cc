#include "runtime/exec/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace krt {
namespace {

constexpr int kThreadCounts[] = {1, 2, 16};

TEST(ArenaType, CallsEveryPartOnce) {
  for (const int threads : kThreadCounts) {
    Arena arena(threads);
    EXPECT_EQ(arena.threads(), threads);
    for (const std::size_t parts : {0, 1, 2, 3, 16, 1000}) {
      std::vector<std::atomic<int>> calls(parts);
      arena.parallel(parts, [&](std::size_t part) { ++calls[part]; });
      for (const auto& count : calls) ASSERT_EQ(count, 1) << threads << " threads, " << parts << " parts";
    }
  }
}

TEST(ArenaType, AsManyThreadsAsTheMachineHasUnlessTold) {
  EXPECT_GE(Arena().threads(), 1);
  EXPECT_EQ(Arena(-3).threads(), Arena(0).threads());
}

TEST(ArenaType, OneThreadComputesInTheCaller) {
  Arena arena(1);
  arena.parallel(8,
                 [caller = std::this_thread::get_id()](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(ArenaType, SeveralThreadsRunAtOnce) {
#ifdef KRT_SERIAL_ARENA
  GTEST_SKIP() << "a krt without TBB computes in the calling thread";
#endif
  // Two parts that wait for each other: one thread alone would wait for ever, which the deadline turns into a failure.
  for (const int threads : {2, 16}) {
    Arena arena(threads);
    std::atomic<int> arrived = 0;
    std::atomic<bool> met = true;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    arena.parallel(2, [&](std::size_t) {
      ++arrived;
      while (arrived < 2 && met) {
        if (std::chrono::steady_clock::now() > deadline) met = false;
        std::this_thread::yield();
      }
    });
    EXPECT_TRUE(met) << threads;
  }
}

TEST(ArenaType, AnExceptionOfABodyReachesTheCaller) {
  for (const int threads : kThreadCounts) {
    Arena arena(threads);
    const auto fail = [&] {
      arena.parallel(100, [](std::size_t part) {
        if (part == 42) throw std::runtime_error("part 42");
      });
    };
    EXPECT_THROW(fail(), std::runtime_error);
    std::atomic<int> after = 0;
    arena.parallel(10, [&](std::size_t) { ++after; });
    EXPECT_EQ(after, 10) << "the arena goes on working";
  }
}

TEST(ArenaType, ManyCallersAndNestedCalls) {
  Arena arena(4);
  std::atomic<int> sum = 0;
  std::vector<std::jthread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        arena.parallel(4, [&](std::size_t) { arena.parallel(3, [&](std::size_t) { ++sum; }); });
    });
  callers.clear();
  EXPECT_EQ(sum, 4 * 50 * 4 * 3);
}

TEST(Band, CoversTheRangeInOrderWithoutOverlap) {
  for (const std::size_t n : {0, 1, 2, 7, 16, 100, 101})
    for (const std::size_t parts : {1, 2, 3, 16, 200})
      for (const std::size_t grain : {1, 4, 8, 64}) {
        std::size_t next = 0, longest = 0;
        for (std::size_t part = 0; part < parts; ++part) {
          const Range r = band(n, parts, part, grain);
          ASSERT_EQ(r.begin, next);
          ASSERT_GE(r.end, r.begin);
          ASSERT_TRUE(r.end == n || r.end % grain == 0);
          next = r.end;
          longest = std::max(longest, r.end - r.begin);
        }
        ASSERT_EQ(next, n) << n << " in " << parts << " by " << grain;
        ASSERT_LE(longest, (n / parts / grain + 1) * grain) << "equal parts";
      }
}

}  // namespace
}  // namespace krt
