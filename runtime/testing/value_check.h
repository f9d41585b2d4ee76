#pragma once
// ValueCheck: the credit that a test gives to a kernel whose values it compared with an oracle.
//
//   TEST(RmsNorm, MatchesReference) {
//     for (const auto& variant : variants_here()) {
//       ValueCheck check("decode.rmsnorm", variant.name);
//       ... assertions ...
//     }
//   }
//
// Credit is given when the check goes out of scope without a failure since it began. With KRT_CENSUS_DIR set, each
// credit is a line `kernel<TAB>variant` in a file of that folder; tests/census compares them with the registry.

#include <string>
#include <string_view>

namespace krt::testing {

class ValueCheck {
 public:
  // `kernel` is the full name, "llmk.residual.residual_add_flat".
  explicit ValueCheck(std::string_view kernel, std::string_view variant = "reference");
  ~ValueCheck();
  ValueCheck(const ValueCheck&) = delete;
  ValueCheck& operator=(const ValueCheck&) = delete;

 private:
  std::string line_;
  int failures_before_;
};

}  // namespace krt::testing
