#include "modules/activations/gelu/gelu.h"

#include <gtest/gtest.h>

#include "modules/builtin.h"
#include "runtime/testing/scalar_formulas.h"

namespace krt::activations {
namespace {

TEST(Gelu, MatchesTheOracle) {
  Runtime runtime(builtin_registry(), {.threads = 1});
  testing::expect_scalar_formulas(runtime, "activations");
}

TEST(Gelu, PublishedValues) {
  EXPECT_DOUBLE_EQ(gelu(1.0), 0.841191990607477);
  EXPECT_DOUBLE_EQ(gelu(-1.0), -0.1588080093925231);
}

}  // namespace
}  // namespace krt::activations
