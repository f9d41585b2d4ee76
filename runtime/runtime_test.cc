#include "runtime/runtime.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <thread>

#include "runtime/registry/module_builder.h"
#include "runtime/version.h"

namespace krt {
namespace {

using Doubles = std::vector<double>;

constexpr std::array<StatusEntry, 2> kTable{{{10, "t_ok", "it ran"}, {11, "t_bad", "it did not"}}};

struct HalfResult {
  Doubles out;
  std::int64_t status;
  static constexpr std::array kFields{"out", "status"};
};
// Status 11 for an odd length, 12 (in no table) for an empty list.
HalfResult half(Context& context, std::span<const double> x) {
  context.variant = "plain";
  if (x.empty()) return {{}, 12};
  if (x.size() % 2 != 0) return {{}, 11};
  return {Doubles(x.begin(), x.begin() + std::ssize(x) / 2), 10};
}

std::int64_t fail(std::string_view how) {
  if (how == "bad_alloc") throw std::bad_alloc();
  if (how == "length") Doubles().reserve(~std::size_t{0});
  if (how == "runtime_error") throw std::runtime_error("the reason");
  if (how == "status") throw StatusError({Reason::kNoVariant, "no variant serves the call"});
  if (how == "int") throw 42;
  return 0;
}
Result<std::int64_t> open(std::string_view path) {
  if (path != "there") return Status(Reason::kFailedPrecondition, "cannot open it");
  return 7;
}
std::int64_t threads(Context& context) { return context.arena.threads(); }

std::atomic<bool> g_running = false;
// Both threads of the arena run until a checkpoint ends them.
std::int64_t endless(Context& context) {
  context.arena.parallel(2, [&](std::size_t) {
    g_running = true;
    g_running.notify_all();
    for (;;) context.checkpoint();
  });
  return 0;
}
// Emits what it is given, one by one.
std::int64_t each(Context& context, std::span<const std::int64_t> x) {
  for (const std::int64_t v : x) context.emit(v);
  return std::ssize(x);
}
std::int64_t by_value(Context& context) { return context.arguments_by_value ? 1 : 0; }

Registry registry() {
  Registry r;
  ModuleBuilder m(r, "t", "Kernels of the runtime tests");
  m.function<half>("half", "The first half of x", {{"x", "numbers"}}).statuses(kTable).example("[[1,2]]");
  m.function<fail>("fail", "Throws", {{"how", "what to throw"}}).example("[\"\"]");
  m.function<open>("open", "Answers 7", {{"path", "a path"}}).example("[\"there\"]");
  m.function<threads>("threads", "Threads of the arena").example("[]");
  m.function<endless>("endless", "Runs until it is cancelled").example("[]");
  m.function<each>("each", "Emits every value", {{"x", "numbers"}}).example("[[1,2]]");
  m.function<by_value>("by_value", "Whether the arguments are copies").example("[]");
  m.function<threads>("_internal", "Not for callers").example("[]");
  return r;
}

class RuntimeTest : public ::testing::Test {
 protected:
  Runtime runtime_{registry(), {.threads = 2}};
};

TEST_F(RuntimeTest, TheEnvelopeOfASuccess) {
  CallOptions options;
  options.request_id = "r-\xC3\xA9";
  const ExecuteResult r = runtime_.execute("t", "half", List{Doubles{1, 2, 3, 4}}, options);
  EXPECT_TRUE(r.success());
  EXPECT_EQ(r.module, "t");
  EXPECT_EQ(r.function, "half");
  EXPECT_EQ(r.request_id, "r-\xC3\xA9");
  EXPECT_TRUE(identical(r.result, Dict{{"out", Doubles{1, 2}}, {"status", 10}}));
  EXPECT_EQ(r.status, 10);
  EXPECT_EQ(r.status_name, "t_ok");
  EXPECT_EQ(r.engine_used, "plain");
  EXPECT_GT(r.latency_ms, 0);
  EXPECT_TRUE(r.mutated.empty());
}

TEST_F(RuntimeTest, AKernelsRefusalIsAnAnswer) {
  const ExecuteResult odd = runtime_.execute("t", "half", List{Doubles{1, 2, 3}});
  EXPECT_TRUE(odd.success());
  EXPECT_EQ(odd.status, 11);
  EXPECT_EQ(odd.status_name, "t_bad");
  EXPECT_EQ(runtime_.execute("t", "half", List{}).status_name, "unknown_status");
}

TEST_F(RuntimeTest, WithoutAStatusOfItsOwnItIsZeroAndOk) {
  const ExecuteResult r = runtime_.execute("t", "threads");
  EXPECT_TRUE(identical(r.result, 2));
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.status_name, "ok");
  EXPECT_EQ(r.engine_used, "reference");
}

TEST_F(RuntimeTest, TheEnvelopeOfAnError) {
  CallOptions options;
  options.request_id = "r-1";
  const struct {
    std::string_view module, function;
    Value args;
    Reason reason;
    std::string_view message;
  } rows[] = {
      {"x", "half", {}, Reason::kModuleNotRegistered, "Unknown runtime library 'x'"},
      {"t", "x", {}, Reason::kFunctionNotRegistered, "Runtime library 't' does not expose 'x'"},
      {"t", "_internal", {}, Reason::kFunctionNotRegistered, "Runtime library 't' does not expose '_internal'"},
      {"t", "half", 1, Reason::kInvalidArguments, "t.half: argument 'x' must be f64[n], got int"},
      {"t", "fail", "bad_alloc", Reason::kResourceExhausted, "t.fail: out of memory"},
      {"t", "fail", "length", Reason::kResourceExhausted, "t.fail: the result would be too large"},
      {"t", "fail", "runtime_error", Reason::kInternal, "t.fail: the reason"},
      {"t", "fail", "status", Reason::kNoVariant, "t.fail: no variant serves the call"},
      {"t", "fail", "int", Reason::kInternal, "t.fail threw something that is no std::exception"},
      {"t", "open", "nope", Reason::kFailedPrecondition, "cannot open it"},
  };
  for (const auto& row : rows) {
    const ExecuteResult r = runtime_.execute(row.module, row.function, row.args, options);
    EXPECT_FALSE(r.success());
    EXPECT_EQ(r.error.reason(), row.reason);
    EXPECT_EQ(r.error.message(), row.message);
    EXPECT_EQ(r.module, row.module);
    EXPECT_EQ(r.function, row.function);
    EXPECT_EQ(r.request_id, "r-1");
    EXPECT_TRUE(r.result.is_null());
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(r.status_name, "ok");
    EXPECT_EQ(r.engine_used, "none");
  }
  EXPECT_TRUE(runtime_.execute("t", "open", "there").success());
}

TEST_F(RuntimeTest, CancelledOrLateBeforeTheStart) {
  std::atomic<bool> cancelled = true;
  CallOptions options;
  options.control.cancelled = &cancelled;
  EXPECT_EQ(runtime_.execute("t", "fail", "int", options).error.reason(), Reason::kCancelled);
  cancelled = false;
  EXPECT_TRUE(runtime_.execute("t", "threads", {}, options).success());
  options.control.deadline = Clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(runtime_.execute("t", "fail", "int", options).error.reason(), Reason::kDeadlineExceeded);
  options.control.deadline = Clock::now() + std::chrono::hours(1);
  EXPECT_TRUE(runtime_.execute("t", "threads", {}, options).success());
}

TEST_F(RuntimeTest, ACancelledKernelEndsAtItsNextCheckpoint) {
  std::atomic<bool> cancelled = false;
  CallOptions options;
  options.control.cancelled = &cancelled;
  const std::jthread caller([&] {
    g_running.wait(false);
    cancelled = true;
  });
  const ExecuteResult r = runtime_.execute("t", "endless", {}, options);
  EXPECT_EQ(r.error.reason(), Reason::kCancelled);
  EXPECT_EQ(r.error.message(), "t.endless: the caller cancelled the call");
  options.control = {.deadline = Clock::now() + std::chrono::milliseconds(20)};
  EXPECT_EQ(runtime_.execute("t", "endless", {}, options).error.reason(), Reason::kDeadlineExceeded);
}

TEST_F(RuntimeTest, EventsComeBeforeTheResult) {
  List events;
  CallOptions options;
  options.on_event = [&](const Value& event) { events.push_back(event); };
  const List args{std::vector<std::int64_t>{3, 1, 2}};
  EXPECT_TRUE(identical(runtime_.execute("t", "each", args, options).result, 3));
  EXPECT_TRUE(identical(events, List{3, 1, 2}));
  EXPECT_TRUE(identical(runtime_.execute("t", "each", args).result, 3));  // nobody listens
}

TEST_F(RuntimeTest, OptionsReachTheKernel) {
  CallOptions options;
  EXPECT_TRUE(identical(runtime_.execute("t", "by_value", {}, options).result, 0));
  options.arguments_by_value = true;
  EXPECT_TRUE(identical(runtime_.execute("t", "by_value", {}, options).result, 1));
}

TEST_F(RuntimeTest, InABatchOneFailureSpoilsNoOther) {
  const BatchItem items[] = {
      {"t", "half", List{Doubles{1, 2}}, {.request_id = "a"}},
      {"t", "fail", "int", {.request_id = "b"}},
      {"x", "y", {}, {.request_id = "c"}},
      {"t", "half", Dict{{"y", 1}}, {.request_id = "d"}},
      {"t", "threads", {}, {.request_id = "e"}},
  };
  const std::vector<ExecuteResult> results = runtime_.execute_batch(items);
  ASSERT_EQ(results.size(), 5U);
  constexpr Reason kReasons[] = {Reason::kNone, Reason::kInternal, Reason::kModuleNotRegistered,
                                 Reason::kInvalidArguments, Reason::kNone};
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].error.reason(), kReasons[i]);
    EXPECT_EQ(results[i].request_id, items[i].options.request_id) << "in order";
  }
  EXPECT_EQ(results[0].status, 10);
  EXPECT_TRUE(runtime_.execute_batch({}).empty());
}

TEST_F(RuntimeTest, AFunctionIsResolvedOnceAndChecksTheSame) {
  const Function f = *runtime_.function("t", "half");
  EXPECT_TRUE(identical(*f(Doubles{1, 2}), Dict{{"out", Doubles{1}}, {"status", 10}}));
  EXPECT_TRUE(identical((*f(Doubles{1, 2, 3}))["status"], 11));
  EXPECT_EQ(f(1).status().message(), "t.half: argument 'x' must be f64[n], got int");
  EXPECT_EQ(f().status().message(), "t.half takes 1 argument (x), got 0");
  EXPECT_EQ(f(1, 2).status().message(), "t.half takes 1 argument (x), got 2");
  EXPECT_EQ((*runtime_.function("t", "fail"))("int").status().reason(), Reason::kInternal);
  EXPECT_EQ(runtime_.function("t", "x").status().reason(), Reason::kFunctionNotRegistered);
  EXPECT_EQ(runtime_.function("t", "_internal").status().reason(), Reason::kFunctionNotRegistered);
  EXPECT_EQ(runtime_.function("", "").status().reason(), Reason::kModuleNotRegistered);
}

TEST_F(RuntimeTest, HealthAndInventory) {
  const Health health = *runtime_.health();
  EXPECT_TRUE(health.ok);
  EXPECT_EQ(health.engine, "mojo");
  EXPECT_EQ(health.version, kVersion);
  EXPECT_GE(health.uptime_seconds, 0);
  const std::vector<ModuleInfo> modules = *runtime_.list_modules();
  ASSERT_EQ(modules.size(), 1U);
  EXPECT_EQ(modules[0].name, "t");
  EXPECT_EQ(modules[0].engine, "mojo");
  EXPECT_EQ(modules[0].functions,
            (std::vector<std::string>{"by_value", "each", "endless", "fail", "half", "open", "threads"}));
  EXPECT_EQ(*runtime_.list_functions("t"), modules[0].functions);
  EXPECT_EQ(runtime_.list_functions("x").status().reason(), Reason::kModuleNotRegistered);
  EXPECT_TRUE(identical((*runtime_.describe("t", "half"))["name"], "half"));
  EXPECT_EQ(runtime_.describe("t", "_internal").status().reason(), Reason::kFunctionNotRegistered);
  EXPECT_EQ(runtime_.describe("x", "").status().reason(), Reason::kModuleNotRegistered);
  const Value module = *runtime_.describe("t", "");
  EXPECT_TRUE(identical(module["name"], "t"));
  EXPECT_TRUE(identical(module["summary"], "Kernels of the runtime tests"));
  EXPECT_EQ(module["functions"].get_if<List>()->size(), 7U);
}

TEST_F(RuntimeTest, HandlesBelongToTheirRuntime) {
  Runtime other(registry(), {.threads = 1, .max_handles = 1});
  const Handle handle = *runtime_.put(Doubles{1, 2}, "x");
  EXPECT_TRUE(identical(*runtime_.get(handle), Doubles{1, 2}));
  EXPECT_EQ(runtime_.list_handles()->at(0).name, "x");
  EXPECT_EQ(other.get(handle).status().reason(), Reason::kHandleNotFound);
  EXPECT_EQ(other.execute("t", "half", List{handle}).error.reason(), Reason::kHandleNotFound);
  EXPECT_TRUE(other.put(1).ok());
  EXPECT_EQ(other.put(1).status().reason(), Reason::kResourceExhausted);
  EXPECT_TRUE(runtime_.free(handle).ok());
  EXPECT_FALSE(runtime_.get(handle).ok());
}

TEST_F(RuntimeTest, ManyThreadsCallAtOnce) {
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> callers;
  for (int t = 0; t < 8; ++t)
    callers.emplace_back([&, t] {
      const Doubles x(static_cast<std::size_t>(2 * (t + 1)), t);
      const Doubles want(x.begin(), x.begin() + t + 1);
      for (int i = 0; i < 200; ++i) {
        const ExecuteResult r = runtime_.execute("t", "half", List{x});
        if (!r.success() || !identical(r.result["out"], want)) ++wrong;
        if (runtime_.execute("t", "fail", "int").success()) ++wrong;
      }
    });
  callers.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(RuntimeConstruction, RefusesARegistryThatCannotBeServed) {
  Registry r;
  ModuleBuilder(r, "t", "A module").function<threads>("f", "Without an example");
  EXPECT_THROW(Runtime runtime(std::move(r)), std::invalid_argument);
}

}  // namespace
}  // namespace krt
