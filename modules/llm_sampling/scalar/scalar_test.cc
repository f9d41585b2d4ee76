#include "modules/llm_sampling/scalar/scalar.h"

#include <gtest/gtest.h>

#include <cmath>

#include "modules/builtin.h"
#include "runtime/testing/scalar_formulas.h"

namespace krt::llm_sampling {
namespace {

TEST(LlmSampling, EveryFormulaMatchesTheOracle) {
  Runtime runtime(builtin_registry(), {.threads = 1});
  testing::expect_scalar_formulas(runtime, "llm_sampling");
}

TEST(LlmSampling, GreedyTokenId) {
  EXPECT_EQ(greedy_token_id(9, 9, 1), 1);
  EXPECT_EQ(greedy_token_id(9, std::nextafter(9.0, 0.0), 1), -1);
  EXPECT_EQ(greedy_token_id(-HUGE_VAL, -HUGE_VAL, 0), 0);
  EXPECT_EQ(greedy_token_id(0.0, -0.0, 7), 7);
  EXPECT_EQ(greedy_token_id(std::nan(""), std::nan(""), 7), -1);
}

}  // namespace
}  // namespace krt::llm_sampling
