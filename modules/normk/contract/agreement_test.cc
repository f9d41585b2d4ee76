#include "modules/agreement.h"

#include <gtest/gtest.h>

namespace krt {
namespace {

TEST(Agreement, KeepsTheFurthestPairAndItsTolerance) {
  Agreement a;
  EXPECT_TRUE(a.add(1.0, 1.0, 0.1));
  EXPECT_TRUE(a.add(2.0, 1.5, 0.75));
  EXPECT_FALSE(a.add(1.0, 1.25, 0.5));
  EXPECT_EQ(a.max_delta, 0.5);
  EXPECT_EQ(a.tolerance_at_max, 0.75);
  EXPECT_TRUE(a.within);
  a.add(1.0, 1.01, 0.001);  // not the furthest, but outside its own tolerance
  EXPECT_FALSE(a.within);
  EXPECT_EQ(a.max_delta, 0.5);
  EXPECT_EQ(a.compared, 4);
}

TEST(Agreement, NonFiniteValues) {
  Agreement a;
  a.add(HUGE_VAL, HUGE_VAL, 0);
  a.add(std::nan(""), std::nan(""), 0);
  EXPECT_TRUE(a.within);
  a.add(std::nan(""), 1.0, 1e300);
  EXPECT_FALSE(a.within);
  EXPECT_EQ(a.max_delta, HUGE_VAL);
}

TEST(CentralSlope, BoundsItsOwnError) {
  for (const double step : {1e-1, 1e-2, 1e-3, 1e-5, 1e-8}) {
    double v = 0.75;
    const Slope slope = central_slope(v, step, [&] { return Loss{std::exp(v), 4 * 0x1p-53 * std::exp(v)}; });
    EXPECT_EQ(v, 0.75);
    EXPECT_LE(std::fabs(slope.value - std::exp(0.75)), slope.tolerance) << step;
    EXPECT_LT(slope.tolerance, 1e-6 + 2 * step * step) << step;  // and is not loose
  }
}

}  // namespace
}  // namespace krt
