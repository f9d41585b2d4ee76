#include "tests/walk/walk.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cctype>

#include "modules/builtin.h"
#include "runtime/registry/module_builder.h"

namespace krt::walk {
namespace {

// A kernel that takes a count on trust and allocates by it must fail here, not take the machine with it.
void limit_memory() {
#ifndef KRT_SHADOWED  // by ASan or TSan, whose shadow memory takes terabytes of addresses
  const rlimit limit{rlim_t{8} << 30U, rlim_t{8} << 30U};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

const Runtimes& builtin() {
  static const Runtimes runtimes = [] {
    limit_memory();
    return Runtimes(builtin_registry);
  }();
  return runtimes;
}

std::vector<std::string> public_functions() {
  std::vector<std::string> names;
  for (const FunctionInfo* info : builtin().registry().all())
    if (!info->internal()) names.push_back(info->full_name());
  return names;
}

class Walk : public ::testing::TestWithParam<std::string> {};

TEST_P(Walk, KeepsItsPromises) {
  const std::size_t dot = GetParam().rfind('.');
  const FunctionInfo* info = builtin().registry().find(GetParam().substr(0, dot), GetParam().substr(dot + 1));
  ASSERT_NE(info, nullptr);
  const std::vector<std::string> problems = problems_of(*info, builtin());
  for (std::size_t i = 0; i < std::min<std::size_t>(problems.size(), 20); ++i) ADD_FAILURE() << problems[i];
}

INSTANTIATE_TEST_SUITE_P(Builtin, Walk, ::testing::ValuesIn(public_functions()), [](const auto& function) {
  std::string name = function.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

TEST(WalkInventory, InternalFunctionsCannotBeNamed) {
  for (const FunctionInfo* info : builtin().registry().all()) {
    if (!info->internal()) continue;
    const ExecuteResult r = builtin().first().execute(info->module, info->name);
    EXPECT_EQ(r.error.code(), Code::kNotFound) << info->full_name();
  }
}

// Controls: functions that break one promise each.

constexpr std::array<StatusEntry, 2> kTable{{{10, "ok", "it ran"}, {11, "bad", "it did not"}}};
constexpr std::array<StatusEntry, 2> kAmbiguous{{{10, "ok", "it ran"}, {10, "bad", "it did not"}}};

struct Answer {
  double sum;
  std::int64_t status;
  static constexpr std::array kFields{"sum", "status"};
};
Answer sound(std::span<const double> x, std::int64_t n) {
  if (std::ssize(x) != n || n == 0) return {0, 11};
  double sum = 0;
  for (const double v : x) sum += v;
  return {sum, 10};
}
Answer undocumented_status(std::span<const double> x, std::int64_t n) { return {0, std::ssize(x) == n ? 10 : 99}; }
Answer never_ok(std::span<const double>, std::int64_t) { return {0, 11}; }
Answer counts_calls(std::span<const double>, std::int64_t) {
  static double calls = 0;
  return {++calls, 10};
}
Answer depends_on_threads(Context& context, std::span<const double>, std::int64_t) {
  return {static_cast<double>(context.arena.threads()), 10};
}
Answer throws_on_zero(std::span<const double>, std::int64_t n) {
  if (n == 0) throw std::runtime_error("division by zero");
  return {0, 10};
}
// Takes whatever it is given.
Status anything(const FunctionInfo&, Context&, std::span<const Value>, Value& out, Dict*) {
  out = Dict{{"sum", 0.0}, {"status", 10}};
  return {};
}
Status wrong_field(const FunctionInfo&, Context&, std::span<const Value>, Value& out, Dict*) {
  out = Dict{{"sum", 0}, {"status", 10}};
  return {};
}
// Refuses without saying which argument.
Status mute(const FunctionInfo& info, Context& context, std::span<const Value> args, Value& out, Dict* mutated) {
  return Binding<sound>::call(info, context, args, out, mutated).ok() ? Status() : invalid("something is wrong");
}

struct Control {
  const char* name;
  void (*spoil)(FunctionInfo& info);
  std::string_view problem;  // what the walk says of it; empty for the sound one
};
const Control kControls[] = {
    {"sound", [](FunctionInfo&) {}, ""},
    {"no_summary", [](FunctionInfo& i) { i.summary.clear(); }, "has no summary"},
    {"no_doc", [](FunctionInfo& i) { i.params[1].doc.clear(); }, "parameter 'n' has no doc"},
    {"ambiguous", [](FunctionInfo& i) { i.statuses = kAmbiguous; }, "status 10 has no name of its own"},
    {"malformed", [](FunctionInfo& i) { i.example = "[[1,2],2"; }, "malformed JSON at byte 8"},
    {"failing", [](FunctionInfo& i) { i.example = "[[1,2],2.5]"; }, "argument 'n' must be int, got float"},
    {"not_ok", [](FunctionInfo& i) { i.example = "[[1,2],3]"; }, "answers bad, not ok"},
    {"never_ok", [](FunctionInfo& i) { i.thunk = &Binding<never_ok>::call; }, "answers bad, not ok"},
    {"counts_calls", [](FunctionInfo& i) { i.thunk = &Binding<counts_calls>::call; }, "something else with 1 threads"},
    {"threads", [](FunctionInfo& i) { i.thunk = &Binding<depends_on_threads>::call; },
     "something else with 16 threads"},
    {"undocumented", [](FunctionInfo& i) { i.thunk = &Binding<undocumented_status>::call; }, "answers status 99"},
    {"throws", [](FunctionInfo& i) { i.thunk = &Binding<throws_on_zero>::call; }, "division by zero"},
    {"anything", [](FunctionInfo& i) { i.thunk = anything; }, "n = 3.5 is not refused"},
    {"wrong_type", [](FunctionInfo& i) { i.thunk = wrong_field; }, "field 'sum' is int, not sum: float"},
    {"mute", [](FunctionInfo& i) { i.thunk = mute; }, "the sentence does not name 'n'"},
};

// Of every control, a function of its own around one sound declaration.
Registry controls() {
  Registry donor;
  ModuleBuilder(donor, "control", "Functions that break one promise each")
      .function<sound>("sound", "Adds", {{"x", "numbers"}, {"n", "how many"}})
      .statuses(kTable)
      .example("[[1,2],2]");
  Registry r;
  for (const Control& control : kControls) {
    FunctionInfo& info = r.add("control", control.name);
    info = *donor.all().front();
    info.name = control.name;
    control.spoil(info);
  }
  return r;
}

TEST(WalkControls, ABrokenPromiseIsNoticed) {
  const Runtimes runtimes(controls);
  for (const Control& control : kControls) {
    const std::vector<std::string> problems = problems_of(*runtimes.registry().find("control", control.name), runtimes);
    if (control.problem.empty()) {
      EXPECT_TRUE(problems.empty()) << control.name << ": " << problems.front();
      continue;
    }
    const bool noticed = std::any_of(problems.begin(), problems.end(), [&](const std::string& p) {
      return p.find(control.problem) != std::string::npos;
    });
    EXPECT_TRUE(noticed) << control.name << ": " << problems.size() << " other problems"
                         << (problems.empty() ? "" : ", the first " + problems.front());
  }
}

}  // namespace
}  // namespace krt::walk
