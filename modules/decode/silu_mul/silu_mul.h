#pragma once
// decode.silu_mul: the gate of a SwiGLU feed-forward layer, out[i] = gate[i] / (1 + e^-gate[i]) * up[i].
// Source: Shazeer, "GLU Variants Improve Transformer" (2020).
//
// Shapes    gate, up, out: n values, n >= 1, rows of any width one behind the other
// Types     f32; f16 and bf16 are converted at the edge. The output is f32
// Error     at most 5 units in the last place of the f32 nearest to the exact value, for every finite input
// Bits      for one variant the same whatever the thread count and the number of rows; variants differ within the bound
// Special   as IEEE evaluates the formula: NaN where gate or up is NaN, and where gate is -infinity (-inf / inf)
// Threads   n >= kParallelMinValues is split over the arena
// Status    600; else 601 (gate or up empty), 605 (len(up) != len(gate)), with out empty

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/dispatch/variant.h"
#include "runtime/registry/floats.h"

namespace krt::decode {

struct SiluMulResult {
  std::vector<float> out;
  std::int64_t status;
  static constexpr std::array kFields{"out", "status"};
};
SiluMulResult silu_mul(Context& context, const Floats& gate, const Floats& up);

// Without an allocation: the three have one length.
void silu_mul_into(Context& context, std::span<const float> gate, std::span<const float> up, std::span<float> out);

using SiluMul = void(const float* gate, const float* up, std::size_t n, float* out);
SiluMul silu_mul_reference;  // in f64, rounded once: the variant "scalar"
const std::vector<Variant<SiluMul>>& silu_mul_variants();

}  // namespace krt::decode
