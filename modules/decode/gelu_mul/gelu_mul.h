#pragma once
// decode.gelu_mul: the gate of a GeGLU feed-forward layer with the tanh form of gelu, as Gemma has it,
//
//   out[i] = gate[i] / (1 + e^-z) * up[i],   z = 2 sqrt(2 / pi) (gate[i] + 0.044715 gate[i]^3)
//
// which is gate / 2 * (1 + tanh(z / 2)) * up. Sources: Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016);
// Shazeer, "GLU Variants Improve Transformer" (2020).
//
// Shapes    gate, up, out: n values, n >= 1, rows of any width one behind the other; out overlaps neither
// Types     f32; f16 and bf16 are converted at the edge. The output is f32
// Error     |out - exact| <= (8 + 4 max(0, -z)) 2^-24 |exact| + 2^-149 (1 + |up|): below z = 0 the rounding of the
//           exponent is multiplied by it. From gate = -9.98 on (z = -86.9) the formula is evaluated in f64
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

struct GeluMulResult {
  std::vector<float> out;
  std::int64_t status;
  static constexpr std::array kFields{"out", "status"};
};
GeluMulResult gelu_mul(Context& context, const Floats& gate, const Floats& up);

// Without an allocation: the three have one length.
void gelu_mul_into(Context& context, std::span<const float> gate, std::span<const float> up, std::span<float> out);

using GeluMul = void(const float* gate, const float* up, std::size_t n, float* out);
GeluMul gelu_mul_reference;  // in f64, rounded once: the variant "scalar"
const std::vector<Variant<GeluMul>>& gelu_mul_variants();

}  // namespace krt::decode
