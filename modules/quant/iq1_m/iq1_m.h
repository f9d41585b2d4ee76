#pragma once
// IQ1_M: 32 low index bytes, 16 bytes of nibbles (three high index bits and the sign of the offset), four u16 of four
// 3-bit scales whose top nibbles together are the f16 d; a scale serves 16 values; value = d * (2 * scale + 1) * (value
// +- 0.125).

#include "modules/quant/iq1_s/iq1_s.h"

namespace krt::quant {

struct IQ1_M {
  static constexpr BlockInfo kInfo{"IQ1_M", 29, 256, 56};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    unsigned d_bits = 0;
    for (unsigned k = 0; k < 4; ++k)
      d_bits |= static_cast<unsigned>(load<std::uint16_t>(block + 48 + k * 2) >> 12U) << (4 * k);
    const float d = to_f32(F16{static_cast<std::uint16_t>(d_bits)});
    for (int k = 0; k < 32; ++k) {  // eight values each
      const int nibble = (block[32 + k / 2] >> (k % 2 * 4)) & 15;
      const int scales = load<std::uint16_t>(block + 48 + k / 8 * 2);
      const float scale = d * static_cast<float>(2 * ((scales >> (k / 2 % 4 * 3)) & 7) + 1);
      iq1_values(block[k] | (nibble & 7) << 8, scale, (nibble & 8) != 0 ? -0.125F : 0.125F, out + k * 8);
    }
  }
};

}  // namespace krt::quant
