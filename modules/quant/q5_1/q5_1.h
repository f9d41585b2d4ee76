#pragma once
// Q5_1: f16 scale and minimum, 32 fifth bits (bit j of a u32 belongs to value j), 32 low nibbles; value = q * d + m.

#include "modules/quant/encode.h"

namespace krt::quant {

struct Q5_1 {
  static constexpr BlockInfo kInfo{"Q5_1", 7, 32, 24};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    const float m = load_f16(block + 2);
    const auto high = load<std::uint32_t>(block + 4);
    for (int j = 0; j < 16; ++j) {
      const int q = block[8 + j];
      out[j] = static_cast<float>((q & 15) | static_cast<int>((high >> j << 4U) & 16U)) * d + m;
      out[j + 16] = static_cast<float>((q >> 4) | static_cast<int>((high >> (j + 16) << 4U) & 16U)) * d + m;
    }
  }
  static void encode(const float* x, std::uint8_t* block) {
    const MinStep m = min_step(x, 31);
    const Levels32 q = levels_of(x, m.minimum, m.step, 0, 31);
    store_f16(block, m.step);
    store_f16(block + 2, m.minimum);
    store_fifth_bits(block + 4, q);
    store_nibbles(block + 8, q);
  }
};

}  // namespace krt::quant
