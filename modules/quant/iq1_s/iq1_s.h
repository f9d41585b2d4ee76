#pragma once
// IQ1_S: f16 d, 32 low index bytes, then a u16 for each 32 values: four 3-bit high parts of the indices, a 3-bit scale
// and the sign of the offset on top; an index stands for eight ternary values; value = d * (2 * scale + 1) * (value +-
// 0.125).

#include "modules/quant/block.h"
#include "modules/quant/iq_grids.h"

namespace krt::quant {

KRT_INLINE void iq1_values(int index, float scale, float offset, float* out) {
  const auto& row = kIq1Grid[static_cast<std::size_t>(index)];
  for (int j = 0; j < 8; ++j) out[j] = scale * (static_cast<float>(row[static_cast<std::size_t>(j)]) + offset);
}

struct IQ1_S {
  static constexpr BlockInfo kInfo{"IQ1_S", 19, 256, 50};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    for (int sub = 0; sub < 8; ++sub) {
      const int high = load<std::uint16_t>(block + 34 + sub * 2);
      const float scale = d * static_cast<float>(2 * ((high >> 12) & 7) + 1);
      const float offset = (high & 0x8000) != 0 ? -0.125F : 0.125F;
      for (int k = 0; k < 4; ++k)
        iq1_values(block[2 + sub * 4 + k] | ((high >> (3 * k)) & 7) << 8, scale, offset, out + sub * 32 + k * 8);
    }
  }
};

}  // namespace krt::quant
