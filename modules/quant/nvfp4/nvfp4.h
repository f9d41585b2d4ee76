#pragma once
// NVFP4: 64 4-bit floats in 4 sub-blocks of 16, each with an unsigned 8-bit float scale (E4M3, 0x7F is 0); value =
// scale / 2 * doubled fp4. Four scale bytes, then 8 bytes a sub-block: byte j holds values j (low) and j + 8 (high).

#include "modules/quant/block.h"
#include "modules/quant/fp4_values.h"

namespace krt::quant {

struct NVFP4 {
  static constexpr BlockInfo kInfo{"NVFP4", 40, 64, 36};
  static KRT_INLINE float half_scale(int e4m3) {
    const int exponent = (e4m3 >> 3) & 15;
    const int fraction = e4m3 & 7;
    if ((e4m3 & 127) == 127) return 0;
    if (exponent == 0) return static_cast<float>(fraction) * 0x1p-10F;
    return std::bit_cast<float>(static_cast<std::uint32_t>(exponent - 7 + 127 - 1) << 23U |
                                static_cast<std::uint32_t>(fraction) << 20U);
  }
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    for (int sub = 0; sub < 4; ++sub) {
      const float d = half_scale(block[sub]);
      const std::uint8_t* q = block + 4 + sub * 8;
      for (int j = 0; j < 8; ++j) {
        out[sub * 16 + j] = static_cast<float>(kFp4Doubled[q[j] & 15]) * d;
        out[sub * 16 + j + 8] = static_cast<float>(kFp4Doubled[q[j] >> 4]) * d;
      }
    }
  }
};

}  // namespace krt::quant
