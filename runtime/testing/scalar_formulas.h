#pragma once
// Modules of scalar formulas (f64 in, one f64 out) against the fixture tests/oracle/data/scalar.json.

#include <string_view>

#include "runtime/runtime.h"

namespace krt::testing {

// Calls every function of `module` by name with the fixture's arguments; each value must lie within the case's bound,
// or have the same bits where the bound is 0. Fails for a function that the fixture does not know. Gives census credit.
void expect_scalar_formulas(Runtime& runtime, std::string_view module);

}  // namespace krt::testing
