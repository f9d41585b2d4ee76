#include <cmath>

#include "modules/decode/argmax/argmax.h"

namespace krt::decode {

std::size_t argmax_reference(const float* x, std::size_t n) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) return i;
    if (x[i] > x[best]) best = i;
  }
  return best;
}

}  // namespace krt::decode
