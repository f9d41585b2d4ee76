#include "modules/decode/rope/rope.h"

namespace krt::decode {

void rope_row_reference(float* x, std::size_t heads, std::size_t pairs, const double* cos, const double* sin,
                        bool interleaved) {
  for (std::size_t head = 0; head < heads; ++head, x += 2 * pairs) {
    for (std::size_t i = 0; i < pairs; ++i) {
      float& first = x[interleaved ? 2 * i : i];
      float& second = x[interleaved ? 2 * i + 1 : i + pairs];
      const double a = double{first};
      const double b = double{second};
      first = static_cast<float>(a * cos[i] - b * sin[i]);
      second = static_cast<float>(b * cos[i] + a * sin[i]);
    }
  }
}

}  // namespace krt::decode
