#pragma once
// IQ4_NL: f16 scale, 32 indices of 4 bits into iq4_values.h; value = d * table[q]. Nibbles lie as in Q4_0.

#include "modules/quant/block.h"
#include "modules/quant/iq4_values.h"

namespace krt::quant {

struct IQ4_NL {
  static constexpr BlockInfo kInfo{"IQ4_NL", 20, 32, 18};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    for (int j = 0; j < 16; ++j) {
      out[j] = d * static_cast<float>(kIq4Values[block[2 + j] & 15]);
      out[j + 16] = d * static_cast<float>(kIq4Values[block[2 + j] >> 4]);
    }
  }
};

}  // namespace krt::quant
