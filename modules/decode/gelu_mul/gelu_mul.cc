#include "modules/decode/gelu_mul/gelu_mul.h"

#include "modules/decode/contract/contract.h"
#include "modules/decode/contract/rows.h"
#include "runtime/registry/module_builder.h"

namespace krt::decode {

void gelu_mul_into(Context& context, std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  const auto& variant = pick(context, gelu_mul_variants(), {static_cast<std::int64_t>(gate.size())});
  for_ranges(context.arena, gate.size(), [&](std::size_t begin, std::size_t count) {
    variant.run(gate.data() + begin, up.data() + begin, count, out.data() + begin);
  });
}

GeluMulResult gelu_mul(Context& context, const Floats& gate, const Floats& up) {
  if (gate.size() == 0 || up.size() == 0) return {{}, kEmptyDimension};
  if (gate.size() != up.size()) return {{}, kOperandLengthMismatch};
  std::vector<float> out(gate.size());
  gelu_mul_into(context, gate.values(), up.values(), out);
  return {std::move(out), kOk};
}

void register_gelu_mul(Registry& registry) {
  ModuleBuilder m(registry, "decode", kModuleSummary);
  m.function<gelu_mul>("gelu_mul", "gelu(gate) * up with the tanh form of gelu, the gate of a GeGLU layer",
                       {{"gate", "n values"}, {"up", "n values"}})
      .details("out[i] = gate[i] / 2 * (1 + tanh(sqrt(2 / pi) (gate[i] + 0.044715 gate[i]^3))) * up[i]")
      .statuses(kStatuses)
      .caps({.determinism = Determinism::kBitExactPerVariant})
      .variants(infos(gelu_mul_variants()), "n")
      .example("[[0,1,-1],[3,2,1]]");
}

}  // namespace krt::decode
