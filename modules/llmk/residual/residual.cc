#include "modules/llmk/residual/residual.h"

#include "modules/llmk/contract/contract.h"
#include "runtime/registry/module_builder.h"

namespace krt::llmk {

ResidResult residual_add_flat(Context& context, std::span<const double> a, std::span<const double> b, std::int64_t n) {
  const std::int64_t status = llmk_residual_dims_check(n, std::ssize(a), std::ssize(b));
  if (status != kOk) return {{}, 0, status};
  const auto count = static_cast<std::size_t>(n);
  std::vector<double> out(count);
  const std::size_t parts = count < kResidualParallelMinCells ? 1 : static_cast<std::size_t>(context.arena.threads());
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(count, parts, part);
    for (std::size_t i = r.begin; i < r.end; ++i) out[i] = a[i] + b[i];
  });
  return {std::move(out), n, kOk};
}

void register_residual(Registry& registry) {
  ModuleBuilder m(registry, "llmk.residual", "Residual-stream adds over whole flat buffers");
  m.function<residual_add_flat>("residual_add_flat", "Elementwise sum of two whole flat buffers",
                                {{"a", "left operand, exactly n values"},
                                 {"b", "right operand, exactly n values"},
                                 {"n", "how many values, 1 to 2^24"}})
      .statuses(kStatuses)
      .example("[[0,1,2,3,4,5],[10,9,8,7,6,5],6]");
}

}  // namespace krt::llmk
