#pragma once
// TQ2_0: 256 ternary values of 2 bits, f16 d at the end; value = (q - 1) * d. In each 128, byte j holds values j,
// j + 32, j + 64 and j + 96 from the low bits up.

#include "modules/quant/block.h"

namespace krt::quant {

struct TQ2_0 {
  static constexpr BlockInfo kInfo{"TQ2_0", 35, 256, 66};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block + 64);
    for (int half = 0; half < 2; ++half)
      for (int pair = 0; pair < 4; ++pair)
        for (int j = 0; j < 32; ++j)
          out[half * 128 + pair * 32 + j] = static_cast<float>(((block[half * 32 + j] >> (pair * 2)) & 3) - 1) * d;
  }
};

}  // namespace krt::quant
