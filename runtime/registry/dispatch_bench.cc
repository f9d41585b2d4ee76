// What a call costs besides its kernel: a function of four scalars among 400 registered names, called directly, through
// a function resolved once, by name, and by name with the whole result object.

#include "runtime/bench/bench.h"
#include "runtime/registry/module_builder.h"
#include "runtime/runtime.h"

namespace krt::bench {
namespace {

[[gnu::noinline]] double scale_add(double x, double scale, double y, double bias) { return x * scale + y + bias; }

constexpr int kNames = 400;
constexpr int kCalls = 1000;  // a run(): the loop of the harness disappears in it
constexpr double kWant = 2 * 3 + 4 + 0.5;

Registry registry() {
  Registry r;
  ModuleBuilder(r, "bench.scalar", "Functions of four scalars")
      .function<scale_add>("scale_add", "x * scale + y + bias",
                           {{"x", "a number"}, {"scale", "a factor"}, {"y", "a number"}, {"bias", "a number"}})
      .example("[2,3,4,0.5]");
  const FunctionInfo declared = *r.all().front();
  for (int i = 1; i < kNames; ++i) {
    FunctionInfo& copy = r.add("bench.scalar" + std::to_string(i % 20), "");
    copy = declared;
    copy.module = "bench.scalar" + std::to_string(i % 20);
    copy.name = "scale_add_" + std::to_string(i);
  }
  return r;
}

struct Fixture {
  Runtime runtime{registry(), {.threads = 1}};
  Function resolved = *runtime.function("bench.scalar7", "scale_add_207");
  List args{2.0, 3.0, 4.0, 0.5};
  Value args_value = args;

  double direct() const {
    double numbers[] = {2, 3, 4, 0.5};
    keep(numbers);
    return scale_add(numbers[0], numbers[1], numbers[2], numbers[3]);
  }
  double through_resolved() const { return *resolved(std::span<const Value>(args))->get_if<double>(); }
  double by_name() { return *runtime.call("bench.scalar7", "scale_add_207", args)->get_if<double>(); }
  double execute() { return *runtime.execute("bench.scalar7", "scale_add_207", args_value).result.get_if<double>(); }
};

}  // namespace

void bench_dispatch(Suite& suite) {
  const auto fixture = std::make_shared<Fixture>();
  const auto repeated = [fixture](double (*call)(Fixture&)) {
    return [fixture, call] {
      for (int i = 0; i < kCalls; ++i) keep(call(*fixture));
    };
  };
  const auto direct = repeated([](Fixture& f) { return f.direct(); });
  const auto add = [&](const char* name, double (*call)(Fixture&)) {
    suite.add({.name = std::string("dispatch.four_scalars/") + name,
               .calls = kCalls,
               .check = [fixture, call] { return call(*fixture) == kWant ? "" : "a wrong sum"; },
               .run = repeated(call),
               .peer = "direct call",
               .peer_run = direct});
  };
  add("resolved_once", [](Fixture& f) { return f.through_resolved(); });
  add("by_name", [](Fixture& f) { return f.by_name(); });
  add("execute", [](Fixture& f) { return f.execute(); });
}

}  // namespace krt::bench
