#pragma once
// Q4_1: f16 scale and minimum, 32 values of 4 bits; value = q * d + m. Byte j holds values j (low) and j + 16 (high).

#include "modules/quant/encode.h"

namespace krt::quant {

struct Q4_1 {
  static constexpr BlockInfo kInfo{"Q4_1", 3, 32, 20};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    const float m = load_f16(block + 2);
    for (int j = 0; j < 16; ++j) {
      const int q = block[4 + j];
      out[j] = static_cast<float>(q & 15) * d + m;
      out[j + 16] = static_cast<float>(q >> 4) * d + m;
    }
  }
  static void encode(const float* x, std::uint8_t* block) {
    const MinStep m = min_step(x, 15);
    const Levels32 q = levels_of(x, m.minimum, m.step, 0, 15);
    store_f16(block, m.step);
    store_f16(block + 2, m.minimum);
    store_nibbles(block + 4, q);
  }
};

}  // namespace krt::quant
