#include "runtime/testing/scalar_formulas.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/testing/fixture.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::testing {
namespace {

void expect_case(const Function& function, const FixtureCase& c) {
  SCOPED_TRACE(c.name());
  const std::vector<double> numbers = c.f64s("args");
  const List args(numbers.begin(), numbers.end());
  const Result<Value> value = function(std::span<const Value>(args));
  ASSERT_TRUE(value.ok()) << value.status().message();
  const double got = *value.value().get_if<double>(), want = c.number("want"), bound = c.number("bound");
  if (bound == 0 && !std::isnan(want))
    EXPECT_TRUE(same_bits<double>(std::span(&got, 1), std::span(&want, 1)));
  else
    EXPECT_TRUE((all_close<double, double>(std::span(&got, 1), std::span(&want, 1), 0, bound)));
}

}  // namespace

void expect_scalar_formulas(Runtime& runtime, std::string_view module) {
  std::map<std::string, std::vector<FixtureCase>> cases;
  for (FixtureCase& c : fixture("scalar")) cases[c.text("function")].push_back(std::move(c));
  const auto names = runtime.list_functions(module);
  ASSERT_TRUE(names.ok()) << names.status().message();
  for (const std::string& name : names.value()) {
    const std::string full = std::string(module) + "." + name;
    ValueCheck check(full);
    EXPECT_FALSE(cases[full].empty()) << full << ": not in the fixture";
    const Result<Function> function = runtime.function(module, name);
    for (const FixtureCase& c : cases[full]) expect_case(function.value(), c);
  }
}

}  // namespace krt::testing
