#pragma once
// Q5_0: f16 scale, 32 fifth bits (bit j of a u32 belongs to value j), 32 low nibbles; value = (q - 16) * d.

#include "modules/quant/encode.h"

namespace krt::quant {

struct Q5_0 {
  static constexpr BlockInfo kInfo{"Q5_0", 6, 32, 22};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    const auto high = load<std::uint32_t>(block + 2);
    for (int j = 0; j < 16; ++j) {
      const int q = block[6 + j];
      out[j] = static_cast<float>(((q & 15) | static_cast<int>((high >> j << 4U) & 16U)) - 16) * d;
      out[j + 16] = static_cast<float>(((q >> 4) | static_cast<int>((high >> (j + 16) << 4U) & 16U)) - 16) * d;
    }
  }
  static void encode(const float* x, std::uint8_t* block) {
    const float d = extreme(x, 32) / -16;
    const Levels32 q = levels_of(x, 0, d, 16, 31);
    store_f16(block, d);
    store_fifth_bits(block + 2, q);
    store_nibbles(block + 6, q);
  }
};

}  // namespace krt::quant
