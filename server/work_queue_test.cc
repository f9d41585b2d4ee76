#include "server/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <latch>

namespace krt {
namespace {

struct Task final : Work {
  explicit Task(std::function<void()> f) : body(std::move(f)) {}
  void run() override { body(); }
  std::function<void()> body;
};

TEST(WorkQueue, RunsEverythingBeforeItEnds) {
  std::atomic<int> ran{0};
  std::vector<Task> tasks(100, Task([&] { ++ran; }));
  {
    WorkQueue queue(3, 100);
    EXPECT_EQ(queue.threads(), 3);
    for (Task& task : tasks) EXPECT_TRUE(queue.push(&task));
  }
  EXPECT_EQ(ran, 100);
}

TEST(WorkQueue, RefusesWhatItCannotHold) {
  std::promise<void> started, release;
  std::latch done(2);
  Task blocker([&] {
    started.set_value();
    release.get_future().wait();
    done.count_down();
  });
  Task waiting([&] { done.count_down(); }), refused([] { FAIL(); });
  WorkQueue queue(1, 1);
  EXPECT_TRUE(queue.push(&blocker));
  started.get_future().wait();
  EXPECT_TRUE(queue.push(&waiting));
  EXPECT_FALSE(queue.push(&refused));
  release.set_value();
  done.wait();
}

TEST(WorkQueue, WhatIsRemovedIsNotRun) {
  std::promise<void> started, release;
  Task blocker([&] {
    started.set_value();
    release.get_future().wait();
  });
  Task removed([] { FAIL(); });
  WorkQueue queue(1, 2);
  EXPECT_TRUE(queue.push(&blocker));
  started.get_future().wait();
  EXPECT_TRUE(queue.push(&removed));
  EXPECT_TRUE(queue.remove(&removed));
  EXPECT_FALSE(queue.remove(&removed));
  EXPECT_FALSE(queue.remove(&blocker)) << "it runs already";
  release.set_value();
}

TEST(WorkQueue, RunsAsManyAtOnceAsItHasThreads) {
  constexpr int kThreads = 4;
  std::latch all(kThreads);
  std::vector<Task> tasks(kThreads, Task([&] { all.arrive_and_wait(); }));  // hangs unless all run at once
  WorkQueue queue(kThreads, kThreads);
  for (Task& task : tasks) EXPECT_TRUE(queue.push(&task));
  all.wait();
}

}  // namespace
}  // namespace krt
