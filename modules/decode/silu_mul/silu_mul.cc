#include "modules/decode/silu_mul/silu_mul.h"

#include "modules/decode/contract/contract.h"
#include "modules/decode/contract/rows.h"
#include "runtime/registry/module_builder.h"

namespace krt::decode {

void silu_mul_into(Context& context, std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  const auto& variant = pick(context, silu_mul_variants(), {static_cast<std::int64_t>(gate.size())});
  for_ranges(context.arena, gate.size(), [&](std::size_t begin, std::size_t count) {
    variant.run(gate.data() + begin, up.data() + begin, count, out.data() + begin);
  });
}

SiluMulResult silu_mul(Context& context, const Floats& gate, const Floats& up) {
  if (gate.size() == 0 || up.size() == 0) return {{}, kEmptyDimension};
  if (gate.size() != up.size()) return {{}, kOperandLengthMismatch};
  std::vector<float> out(gate.size());
  silu_mul_into(context, gate.values(), up.values(), out);
  return {std::move(out), kOk};
}

void register_silu_mul(Registry& registry) {
  ModuleBuilder m(registry, "decode", kModuleSummary);
  m.function<silu_mul>("silu_mul", "silu(gate) * up, the gate of a SwiGLU layer",
                       {{"gate", "n values"}, {"up", "n values"}})
      .details("out[i] = gate[i] / (1 + e^-gate[i]) * up[i], within 5 units in the last place")
      .statuses(kStatuses)
      .caps({.determinism = Determinism::kBitExactPerVariant})
      .variants(infos(silu_mul_variants()), "n")
      .example("[[0,1,-1],[3,2,1]]");
}

}  // namespace krt::decode
