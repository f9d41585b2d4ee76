#include "runtime/testing/fixture.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "runtime/registry/module_builder.h"
#include "runtime/testing/scalar_formulas.h"

namespace krt::testing {
namespace {

FixtureCase example() {
  return {"here", Dict{{"name", "a case"},
                       {"n", 3},
                       {"eps", 0.5},
                       {"on", true},
                       {"x", std::vector<double>{1, 0.5}},
                       {"tenth", std::vector<double>{0.1}},
                       {"ids", std::vector<std::int64_t>{4, 5}},
                       {"none", List{}}}};
}

TEST(Fixture, ReadsFieldsByKind) {
  const FixtureCase c = example();
  EXPECT_EQ(c.name(), "here: a case");
  EXPECT_EQ(c.integer("n"), 3);
  EXPECT_EQ(c.number("n"), 3.0);
  EXPECT_EQ(c.number("eps"), 0.5);
  EXPECT_TRUE(c.flag("on"));
  EXPECT_EQ(c.f64s("x"), (std::vector<double>{1, 0.5}));
  EXPECT_EQ(c.f32s("x"), (std::vector<float>{1, 0.5}));
  EXPECT_EQ(c.f64s("ids"), (std::vector<double>{4, 5}));
  EXPECT_EQ(c.i64s("ids"), (std::vector<std::int64_t>{4, 5}));
  EXPECT_TRUE(c.f64s("none").empty());
  EXPECT_TRUE(c.has("x"));
  EXPECT_FALSE(c.has("y"));
}

TEST(Fixture, ThrowsRatherThanPassOnNothing) {
  const FixtureCase c = example();
  EXPECT_THROW((void)c.f64s("missing"), std::runtime_error);
  EXPECT_THROW((void)c.integer("eps"), std::runtime_error);
  EXPECT_THROW((void)c.i64s("x"), std::runtime_error);
  EXPECT_THROW((void)c.f32s("tenth"), std::runtime_error);  // 0.1 is no f32
  EXPECT_THROW(fixture("there_is_no_such_file"), std::runtime_error);
}

TEST(Fixture, SpecialValuesSurviveTheFile) {
  int nan = 0, infinite = 0;
  for (const FixtureCase& c : fixture("scalar")) {
    nan += std::isnan(c.number("want")) ? 1 : 0;
    infinite += std::isinf(c.number("want")) ? 1 : 0;
  }
  EXPECT_GT(nan, 0);
  EXPECT_GT(infinite, 0);
}

double not_gelu(double x) { return x; }

TEST(ScalarFormulas, ControlAWrongFormulaIsNoticed) {
  Registry registry;
  ModuleBuilder(registry, "activations", "A wrong one")
      .function<not_gelu>("gelu", "Not so", {{"x", "x"}})
      .example("[1.0]");
  static Runtime runtime(std::move(registry), {.threads = 1});
  ::testing::TestPartResultArray failures;
  {
    ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    expect_scalar_formulas(runtime, "activations");
  }
  ASSERT_GT(failures.size(), 10);
  EXPECT_NE(std::string(failures.GetTestPartResult(0).message()).find("want"), std::string::npos);
}

}  // namespace
}  // namespace krt::testing
