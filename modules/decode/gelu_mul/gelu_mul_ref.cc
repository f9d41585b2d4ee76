#include "modules/decode/gelu_mul/gelu_mul.h"
#include "modules/mlpk/activation/functions.h"

namespace krt::decode {

void gelu_mul_reference(const float* gate, const float* up, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(mlpk::gelu_tanh_fast(double{gate[i]}) * double{up[i]});
}

}  // namespace krt::decode
