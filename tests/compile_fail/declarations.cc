// Compiled once as it is, and once for each macro, which must not compile (CMakeLists.txt).

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/registry/module_builder.h"

namespace krt {

struct SumResult {
  double sum;
  std::int64_t status;
#ifdef MISSING_FIELD_NAME
  static constexpr std::array kFields{"sum"};
#else
  static constexpr std::array kFields{"sum", "status"};
#endif
};
SumResult sum(std::span<const double> x, std::int64_t n) { return {x[0], n}; }

#ifdef PARAMETER_WITHOUT_BINDING
double unbound(int x) { return x; }  // an int64 is what the binding knows
#else
double unbound(std::int64_t x) { return static_cast<double>(x); }
#endif
#ifdef RESULT_WITHOUT_BINDING
std::map<int, int> unreturned(std::int64_t) { return {}; }
#else
double unreturned(std::int64_t x) { return static_cast<double>(x); }
#endif

#ifdef EMPTY_DOC
constexpr const char* kDoc = "";
#else
constexpr const char* kDoc = "how many";
#endif
#ifdef EMPTY_SUMMARY
constexpr const char* kSummary = "";
#elif defined(FULL_STOP)
constexpr const char* kSummary = "Adds.";
#elif defined(TWO_LINES)
constexpr const char* kSummary = "Adds\nnumbers";
#else
constexpr const char* kSummary = "Adds";
#endif

void declare(Registry& registry) {
  ModuleBuilder m(registry, "m", "A module");
#ifdef MISSING_ARGUMENT
  m.function<sum>("sum", kSummary, {{"x", "numbers"}}).example("[[1],1]");
#elif defined(ADDITIONAL_ARGUMENT)
  m.function<sum>("sum", kSummary, {{"x", "numbers"}, {"n", kDoc}, {"m", kDoc}}).example("[[1],1]");
#elif defined(NO_ARGUMENTS)
  m.function<sum>("sum", kSummary).example("[[1],1]");
#else
  m.function<sum>("sum", kSummary, {{"x", "numbers"}, {"n", kDoc}}).example("[[1],1]");
#endif
  m.function<unbound>("unbound", "Takes a number", {{"x", "a number"}}).example("[1]");
  m.function<unreturned>("unreturned", "Answers a number", {{"x", "a number"}}).example("[1]");
}

}  // namespace krt
