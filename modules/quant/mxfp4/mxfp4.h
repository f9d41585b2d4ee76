#pragma once
// MXFP4: a power-of-two scale (E8M0) and 32 4-bit floats; value = 2^(e - 127) * fp4, computed as half the scale times
// the doubled fp4 value. Nibbles lie as in Q4_0.

#include "modules/quant/block.h"
#include "modules/quant/fp4_values.h"

namespace krt::quant {

struct MXFP4 {
  static constexpr BlockInfo kInfo{"MXFP4", 39, 32, 17};
  // 2^(e - 128): e < 2 is subnormal in f32.
  static KRT_INLINE float half_scale(std::uint32_t e) {
    return std::bit_cast<float>(e < 2 ? 0x00200000U << e : (e - 1) << 23U);
  }
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = half_scale(block[0]);
    for (int j = 0; j < 16; ++j) {
      out[j] = static_cast<float>(kFp4Doubled[block[1 + j] & 15]) * d;
      out[j + 16] = static_cast<float>(kFp4Doubled[block[1 + j] >> 4]) * d;
    }
  }
};

}  // namespace krt::quant
