#pragma once
// IQ2_XS: f16 d, 32 u16 of a 9-bit codebook index and a 7-bit sign group for eight values each, and 8 bytes of two
// 4-bit scales, one for 16 values; value = d * (0.5 + scale) * 0.25 * codebook value.

#include "modules/quant/iq_grids.h"
#include "modules/quant/iq_signs.h"

namespace krt::quant {

struct IQ2_XS {
  static constexpr BlockInfo kInfo{"IQ2_XS", 17, 256, 74};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    for (int k = 0; k < 32; ++k) {
      const unsigned packed = load<std::uint16_t>(block + 2 + k * 2);
      const int scale = (block[66 + k / 4] >> (k / 2 % 2 * 4)) & 15;
      signed_values(kIq2XsGrid[packed & 511U].data(), 8, even_signs(packed >> 9U),
                    d * (0.5F + static_cast<float>(scale)) * 0.25F, out + k * 8);
    }
  }
};

}  // namespace krt::quant
