#include "modules/activations/gelu/gelu.h"

#include "runtime/registry/module_builder.h"

namespace krt::activations {

void register_gelu(Registry& registry) {
  ModuleBuilder m(registry, "activations", "Activation functions, one value at a time");
  m.function<gelu>("gelu", "The tanh form of the Gaussian error linear unit", {{"x", "any number"}})
      .caps({.determinism = Determinism::kBitExactPerVariant})
      .example("[1.0]");
}

}  // namespace krt::activations
