#pragma once
// IQ2_S: f16 d, 32 low index bytes, 32 sign bytes, 8 bytes of high index pairs, 8 bytes of two 4-bit scales, one for 16
// values; an index stands for eight values; value = d * (0.5 + scale) * 0.25 * codebook value.

#include "modules/quant/iq_grids.h"
#include "modules/quant/iq_signs.h"

namespace krt::quant {

struct IQ2_S {
  static constexpr BlockInfo kInfo{"IQ2_S", 22, 256, 82};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    for (int k = 0; k < 32; ++k) {
      const int index = block[2 + k] | ((block[66 + k / 4] >> (k % 4 * 2)) & 3) << 8;
      const int scale = (block[74 + k / 4] >> (k / 2 % 2 * 4)) & 15;
      signed_values(kIq2SGrid[static_cast<std::size_t>(index)].data(), 8, block[34 + k],
                    d * (0.5F + static_cast<float>(scale)) * 0.25F, out + k * 8);
    }
  }
};

}  // namespace krt::quant
