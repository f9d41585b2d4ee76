#pragma once
// Fixtures: what an oracle that is not here at test time (torch, numpy, transformers) answered. Small JSON files under
// tests/oracle/data, each written by the script of the same name beside them; they say by which versions and seed.
//
//   for (const FixtureCase& c : fixture("normk")) {        // tests/oracle/data/normk.json
//     SCOPED_TRACE(c.name());
//     const auto got = rmsnorm_fwd_flat(c.f64s("x"), c.f64s("gamma"), c.integer("rows"), c.integer("cols"),
//     c.number("eps")); EXPECT_TRUE((all_close<double, double>(got.y, c.f64s("y"), 1e-14)));
//   }
//
// A file that cannot be read, a file without cases and a field that is not there throw: a test cannot pass on nothing.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/value.h"

namespace krt::testing {

class FixtureCase {
 public:
  FixtureCase(std::string file, Value fields) : file_(std::move(file)), fields_(std::move(fields)) {}
  // The file and the case's own "name".
  [[nodiscard]] std::string name() const { return file_ + ": " + text("name"); }
  [[nodiscard]] bool has(std::string_view field) const { return fields_.find(field) != nullptr; }

  [[nodiscard]] std::int64_t integer(std::string_view field) const;
  [[nodiscard]] double number(std::string_view field) const;  // an integer token too; NaN and infinities as tokens
  [[nodiscard]] bool flag(std::string_view field) const;
  [[nodiscard]] std::string text(std::string_view field) const;
  // Flat lists.
  [[nodiscard]] std::vector<double> f64s(std::string_view field) const;
  [[nodiscard]] std::vector<float> f32s(std::string_view field) const;  // each value must be an f32 exactly
  [[nodiscard]] std::vector<std::int64_t> i64s(std::string_view field) const;

 private:
  [[nodiscard]] const Value& at(std::string_view field) const;
  [[noreturn]] void fail(std::string_view field, std::string_view what) const;

  std::string file_;
  Value fields_;
};

// The cases of tests/oracle/data/<name>.json.
std::vector<FixtureCase> fixture(std::string_view name);
// The bytes of tests/oracle/data/<file>, for data that is no JSON.
std::string fixture_bytes(std::string_view file);

}  // namespace krt::testing
