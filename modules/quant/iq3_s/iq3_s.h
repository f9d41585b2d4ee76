#pragma once
// IQ3_S: f16 d, 64 low index bytes, 8 bytes of ninth bits, 32 sign bytes, 4 bytes of two 4-bit scales, one for 32
// values; an index stands for four values; value = d * (1 + 2 * scale) * codebook value.

#include "modules/quant/iq_grids.h"
#include "modules/quant/iq_signs.h"

namespace krt::quant {

struct IQ3_S {
  static constexpr BlockInfo kInfo{"IQ3_S", 21, 256, 110};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    for (int k = 0; k < 64; ++k) {
      const int index = block[2 + k] | ((block[66 + k / 8] >> (k % 8)) & 1) << 8;
      const int scale = (block[106 + k / 16] >> (k / 8 % 2 * 4)) & 15;
      const unsigned signs = block[74 + k / 2] >> (k % 2 * 4);
      signed_values(kIq3SGrid[static_cast<std::size_t>(index)].data(), 4, signs, d * static_cast<float>(1 + 2 * scale),
                    out + k * 4);
    }
  }
};

}  // namespace krt::quant
