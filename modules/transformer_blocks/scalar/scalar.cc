#include "modules/transformer_blocks/scalar/scalar.h"

#include "runtime/registry/module_builder.h"

namespace krt::transformer_blocks {

void register_scalar(Registry& registry) {
  ModuleBuilder m(registry, "transformer_blocks", "Scalar formulas of a transformer layer");
  m.function<residual_connection>("residual_connection", "x + sublayer_out",
                                  {{"x", "the residual stream"}, {"sublayer_out", "what the sublayer adds"}})
      .example("[1.5,2.25]");
}

}  // namespace krt::transformer_blocks
