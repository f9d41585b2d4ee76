#pragma once
// Q5_1: f16 scale and minimum, 32 fifth bits (bit j of a u32 belongs to value j), 32 low nibbles; value = q * d + m.

#include "modules/quant/block.h"

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
};

}  // namespace krt::quant
