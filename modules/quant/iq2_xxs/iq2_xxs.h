#pragma once
// IQ2_XXS: f16 d, then 8 bytes for each 32 values: four codebook indices (eight values each), and a u32 of four 7-bit
// sign groups and a 4-bit scale on top; value = d * (0.5 + scale) * 0.25 * codebook value.

#include "modules/quant/iq_grids.h"
#include "modules/quant/iq_signs.h"

namespace krt::quant {

struct IQ2_XXS {
  static constexpr BlockInfo kInfo{"IQ2_XXS", 16, 256, 66};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    for (int sub = 0; sub < 8; ++sub) {
      const std::uint8_t* index = block + 2 + sub * 8;
      const auto packed = load<std::uint32_t>(index + 4);
      const float scale = d * (0.5F + static_cast<float>(packed >> 28U)) * 0.25F;
      for (int k = 0; k < 4; ++k)
        signed_values(kIq2XxsGrid[index[k]].data(), 8, even_signs(packed >> (7 * k) & 127U), scale,
                      out + sub * 32 + k * 8);
    }
  }
};

}  // namespace krt::quant
