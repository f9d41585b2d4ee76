// A program of somebody else: a kernel of krt's and one of its own, by name.
#include <modules/builtin.h>
#include <runtime/registry/module_builder.h>
#include <runtime/runtime.h>

#include <cstdio>

std::int64_t twice(std::int64_t x) { return 2 * x; }

int main() {
  krt::Registry registry;
  krt::register_builtin(registry);
  krt::ModuleBuilder(registry, "my.own", "Functions of the consumer")
      .function<twice>("twice", "Twice a number", {{"x", "the number"}})
      .example("[21]");
  krt::Runtime runtime(std::move(registry));
  const std::vector<double> a{1, 2, 3}, b{4, 5, 6};
  const krt::ExecuteResult sum = runtime.execute("llmk.residual", "residual_add_flat", krt::List{a, b, 3});
  const krt::ExecuteResult own = runtime.execute("my.own", "twice", 21);
  const bool right = identical(sum.result["out"], std::vector<double>{5, 7, 9}) && identical(own.result, 42);
  std::puts(right ? "right" : "wrong");
  return right ? 0 : 1;
}
