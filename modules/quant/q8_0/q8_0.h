#pragma once
// Q8_0: f16 scale, 32 signed bytes; value = q * d.

#include "modules/quant/encode.h"

namespace krt::quant {

struct Q8_0 {
  static constexpr BlockInfo kInfo{"Q8_0", 8, 32, 34};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(static_cast<std::int8_t>(block[2 + j])) * d;
  }
  // Rounds half-way cases away from zero.
  static void encode(const float* x, std::uint8_t* block) {
    const float d = std::fabs(extreme(x, 32)) / 127;
    const float scale = inverse(d);
    store_f16(block, d);
    for (int j = 0; j < 32; ++j) block[2 + j] = static_cast<std::uint8_t>(static_cast<int>(std::round(x[j] * scale)));
  }
};

}  // namespace krt::quant
