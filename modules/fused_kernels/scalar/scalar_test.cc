#include "modules/fused_kernels/scalar/scalar.h"

#include <gtest/gtest.h>

#include <cmath>

#include "modules/builtin.h"
#include "runtime/testing/scalar_formulas.h"

namespace krt::fused_kernels {
namespace {

TEST(FusedKernels, EveryFormulaMatchesTheOracle) {
  Runtime runtime(builtin_registry(), {.threads = 1});
  testing::expect_scalar_formulas(runtime, "fused_kernels");
}

TEST(FusedKernels, FusedAddNorm) {
  EXPECT_EQ(fused_add_norm(1, 2, 0.5, 2, 1.5, 0.25), 7.75);
  // Every step is rounded: 1 + 2^-53 is 1, and nothing of it is left after the mean.
  EXPECT_EQ(fused_add_norm(1, 0x1p-53, 1, 1, 1, 0), 0);
  // Product, then sum: a fused multiply-add would leave 2^-104.
  EXPECT_EQ(fused_add_norm(1 + 0x1p-52, 0, 0, 1, 1 + 0x1p-52, -(1 + 0x1p-51)), 0);
  EXPECT_TRUE(std::isnan(fused_add_norm(HUGE_VAL, 0, HUGE_VAL, 1, 1, 0)));
}

}  // namespace
}  // namespace krt::fused_kernels
