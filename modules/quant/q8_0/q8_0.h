#pragma once
// Q8_0: f16 scale, 32 signed bytes; value = q * d.

#include "modules/quant/block.h"

namespace krt::quant {

struct Q8_0 {
  static constexpr BlockInfo kInfo{"Q8_0", 8, 32, 34};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(static_cast<std::int8_t>(block[2 + j])) * d;
  }
};

}  // namespace krt::quant
