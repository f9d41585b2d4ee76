#include "server/admission.h"

#include <gtest/gtest.h>

#include <future>
#include <limits>

namespace krt {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Admission, CountsUpToItsLimits) {
  Admission admission(2, 100);
  EXPECT_TRUE(admission.enter(60).ok());
  EXPECT_EQ(admission.enter(41).message(),
            "a request of 41 bytes is over what is left of the server's limit of 100 bytes in flight "
            "(max_in_flight_bytes); try again later");
  EXPECT_TRUE(admission.enter(40).ok());
  EXPECT_EQ(admission.enter(0).message(), "2 calls are in flight, the server's limit (max_in_flight); try again later");
  admission.leave(60);
  EXPECT_EQ(admission.in_flight().count, 1U);
  EXPECT_EQ(admission.in_flight().bytes, 40U);
  EXPECT_TRUE(admission.enter(60).ok());
}

TEST(Admission, ResponsesCountUntilTheyAreRead) {
  Admission admission(10, 100);
  EXPECT_TRUE(admission.enter(10).ok());
  admission.add(1000);  // an answer is never refused, but what comes after it is
  EXPECT_EQ(admission.enter(1).reason(), Reason::kResourceExhausted);
  EXPECT_EQ(admission.enter(std::numeric_limits<std::size_t>::max()).reason(), Reason::kResourceExhausted);
  admission.leave(1010);
  EXPECT_TRUE(admission.enter(100).ok());
}

TEST(Admission, ClosedTakesNobody) {
  Admission admission(10, 100);
  admission.close();
  EXPECT_EQ(admission.enter(1).reason(), Reason::kRuntimeUnavailable);
  admission.wait_quiet(std::chrono::milliseconds(1), std::chrono::hours(1));
  admission.wait_quiet(std::chrono::hours(1), std::chrono::milliseconds(1));
}

TEST(Admission, WaitsForEveryKindOfCall) {
  Admission admission(10, 100);
  EXPECT_TRUE(admission.wait_idle(Clock::now()));
  EXPECT_TRUE(admission.enter(1).ok());
  admission.enter_free();
  EXPECT_FALSE(admission.wait_idle(Clock::now()));
  auto idle = std::async(std::launch::async, [&] { return admission.wait_idle(Clock::time_point::max()); });
  admission.leave(1);
  EXPECT_FALSE(admission.wait_idle(Clock::now()));
  admission.leave_free();
  EXPECT_TRUE(idle.get());
}

}  // namespace
}  // namespace krt
