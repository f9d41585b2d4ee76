#pragma once
// Q4_0: f16 scale, 32 values of 4 bits; value = (q - 8) * d. Byte j holds values j (low) and j + 16 (high).

#include "modules/quant/encode.h"

namespace krt::quant {

struct Q4_0 {
  static constexpr BlockInfo kInfo{"Q4_0", 2, 32, 18};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    for (int j = 0; j < 16; ++j) {
      const int q = block[2 + j];
      out[j] = static_cast<float>((q & 15) - 8) * d;
      out[j + 16] = static_cast<float>((q >> 4) - 8) * d;
    }
  }
  static void encode(const float* x, std::uint8_t* block) {
    const float d = extreme(x, 32) / -8;
    const Levels32 q = levels_of(x, 0, d, 8, 15);
    store_f16(block, d);
    store_nibbles(block + 2, q);
  }
};

}  // namespace krt::quant
