#include "modules/transformer_blocks/scalar/scalar.h"

#include <gtest/gtest.h>

#include <cmath>

#include "modules/builtin.h"
#include "runtime/testing/scalar_formulas.h"

namespace krt::transformer_blocks {
namespace {

TEST(TransformerBlocks, EveryFormulaMatchesTheOracle) {
  Runtime runtime(builtin_registry(), {.threads = 1});
  testing::expect_scalar_formulas(runtime, "transformer_blocks");
}

TEST(TransformerBlocks, ResidualConnection) {
  EXPECT_EQ(residual_connection(1.5, 2.25), 3.75);
  EXPECT_EQ(residual_connection(1, 0x1p-53), 1);  // to nearest even
  EXPECT_EQ(residual_connection(1, 0x1.8p-53), 1 + 0x1p-52);
  EXPECT_TRUE(std::isnan(residual_connection(HUGE_VAL, -HUGE_VAL)));
}

}  // namespace
}  // namespace krt::transformer_blocks
