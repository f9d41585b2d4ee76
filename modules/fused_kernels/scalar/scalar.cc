#include "modules/fused_kernels/scalar/scalar.h"

#include "runtime/registry/module_builder.h"

namespace krt::fused_kernels {

void register_scalar(Registry& registry) {
  ModuleBuilder m(registry, "fused_kernels", "Scalar formulas of fused operations");
  m.function<fused_add_norm>("fused_add_norm", "((x + sublayer) - mean) * inv_std * gamma + beta",
                             {{"x", "the residual stream"},
                              {"sublayer", "what the sublayer adds"},
                              {"mean", "mean of the row of sums"},
                              {"inv_std", "1 / standard deviation of the row of sums"},
                              {"gamma", "scale"},
                              {"beta", "shift"}})
      .example("[1.0,2.0,0.5,2.0,1.5,0.25]");
}

}  // namespace krt::fused_kernels
