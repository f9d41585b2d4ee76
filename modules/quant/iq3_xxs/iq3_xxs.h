#pragma once
// IQ3_XXS: f16 d, 64 codebook indices of four values each, then a u32 for each 32 values: four 7-bit sign groups and a
// 4-bit scale on top; value = d * (0.5 + scale) * 0.5 * codebook value.

#include "modules/quant/iq_grids.h"
#include "modules/quant/iq_signs.h"

namespace krt::quant {

struct IQ3_XXS {
  static constexpr BlockInfo kInfo{"IQ3_XXS", 18, 256, 98};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    for (int sub = 0; sub < 8; ++sub) {
      const auto packed = load<std::uint32_t>(block + 66 + sub * 4);
      const float scale = d * (0.5F + static_cast<float>(packed >> 28U)) * 0.5F;
      for (int k = 0; k < 4; ++k) {
        const unsigned signs = even_signs(packed >> (7 * k) & 127U);
        const std::uint8_t* index = block + 2 + sub * 8 + k * 2;
        float* at = out + sub * 32 + k * 8;
        signed_values(kIq3XxsGrid[index[0]].data(), 4, signs, scale, at);
        signed_values(kIq3XxsGrid[index[1]].data(), 4, signs >> 4U, scale, at + 4);
      }
    }
  }
};

}  // namespace krt::quant
