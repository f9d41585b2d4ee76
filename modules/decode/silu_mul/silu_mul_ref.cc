#include <cmath>

#include "modules/decode/silu_mul/silu_mul.h"

namespace krt::decode {

void silu_mul_reference(const float* gate, const float* up, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const double g = double{gate[i]};
    out[i] = static_cast<float>(g / (1 + std::exp(-g)) * double{up[i]});
  }
}

}  // namespace krt::decode
