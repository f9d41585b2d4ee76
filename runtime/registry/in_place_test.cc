// Which arguments a kernel may change in place, and what comes back of them.

#include <gtest/gtest.h>

#include "runtime/registry/module_builder.h"
#include "runtime/runtime.h"

namespace krt {
namespace {

std::int64_t double_all(std::span<double> x) {
  for (double& v : x) v *= 2;
  return static_cast<std::int64_t>(x.size());
}

Registry doubling() {
  Registry registry;
  ModuleBuilder m(registry, "t", "Test kernels");
  m.function<double_all>("double_all", "Doubles every value", {{"x", "changed in place"}}).example("[[1,2]]");
  return registry;
}

ExecuteResult run(Runtime& runtime, Value x, bool by_value) {
  CallOptions options;
  options.arguments_by_value = by_value;
  return runtime.execute("t", "double_all", Dict{{"x", std::move(x)}}, options);
}

TEST(InPlace, TheCallersOwnMemoryChanges) {
  Runtime runtime(doubling());
  std::vector<double> x{1, 2};
  const ExecuteResult r = run(runtime, Tensor::borrow_mutable<double>(x), false);
  ASSERT_TRUE(r.success()) << r.error.message();
  EXPECT_EQ(x, (std::vector<double>{2, 4}));
  EXPECT_EQ(r.mutated.size(), 1U);
}

TEST(InPlace, AReadOnlyTensorIsCopiedOnlyForAnotherProcess) {
  Runtime runtime(doubling());
  const std::vector<double> x{1, 2};
  const ExecuteResult refused = run(runtime, Tensor::borrow<double>(x), false);
  EXPECT_EQ(refused.error.message(),
            "t.double_all: argument 'x' is changed in place: it must be a writable f64 tensor, got a read-only f64[2]");
  const ExecuteResult copied = run(runtime, Tensor::borrow<double>(x), true);
  ASSERT_TRUE(copied.success()) << copied.error.message();
  EXPECT_EQ(x, (std::vector<double>{1, 2}));
  ASSERT_EQ(copied.mutated.size(), 1U);
  EXPECT_TRUE(identical(copied.mutated[0].second, std::vector<double>{2, 4}));
}

TEST(InPlace, TheValueOfAHandleChangesAndDoesNotComeBack) {
  Runtime runtime(doubling());
  const Handle handle = *runtime.put(std::vector<double>{1, 2});
  for (const bool by_value : {false, true}) {
    const ExecuteResult r = run(runtime, handle, by_value);
    ASSERT_TRUE(r.success()) << r.error.message();
    EXPECT_TRUE(r.mutated.empty());
  }
  EXPECT_TRUE(identical(*runtime.get(handle), std::vector<double>{4, 8}));
}

TEST(InPlace, AHandleWhoseValueCannotChangeIsRefused) {
  Runtime runtime(doubling());
  const Handle floats = *runtime.put(std::vector<float>{1, 2}), list = *runtime.put(List{1.0, 2.0});
  EXPECT_EQ(run(runtime, floats, true).error.message(),
            "t.double_all: argument 'x' is changed in place: it must be a writable f64 tensor, got f32[2]");
  EXPECT_EQ(run(runtime, list, true).error.message(),
            "t.double_all: argument 'x' is changed in place: it must be a writable f64 tensor, got list");
}

}  // namespace
}  // namespace krt
