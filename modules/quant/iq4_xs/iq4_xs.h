#pragma once
// IQ4_XS: 256 indices of 4 bits into iq4_values.h in 8 sub-blocks of 32: f16 d, 16 bits of high scale pairs, 4 bytes of
// low scale nibbles, 128 bytes of indices that lie in each sub-block as in Q4_0; value = (d * (scale - 32)) * table[q].

#include "modules/quant/block.h"
#include "modules/quant/iq4_values.h"

namespace krt::quant {

struct IQ4_XS {
  static constexpr BlockInfo kInfo{"IQ4_XS", 23, 256, 136};
  static KRT_INLINE int scale(const std::uint8_t* block, int sub) {
    const int high = load<std::uint16_t>(block + 2);
    return ((block[4 + sub / 2] >> (sub % 2 * 4)) & 15) | ((high >> (sub * 2)) & 3) << 4;
  }
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    for (int sub = 0; sub < 8; ++sub) {
      const float s = d * static_cast<float>(scale(block, sub) - 32);
      const std::uint8_t* q = block + 8 + sub * 16;
      for (int j = 0; j < 16; ++j) {
        out[sub * 32 + j] = s * static_cast<float>(kIq4Values[q[j] & 15]);
        out[sub * 32 + j + 16] = s * static_cast<float>(kIq4Values[q[j] >> 4]);
      }
    }
  }
};

}  // namespace krt::quant
