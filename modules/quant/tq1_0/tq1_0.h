#pragma once
// TQ1_0: 256 ternary values, five to a byte in base 3: 48 bytes of five, 4 bytes of four, f16 d at the end; value =
// (digit - 1) * d. A byte b holds ceil(n * 256 / 243) of its base-3 number n, so that digit k is the top of
// (b * 3^k mod 256) * 3 / 256. Bytes 0-31 hold values j + 32 k, bytes 32-47 values 160 + j + 16 k, the last four 240 +
// j + 4 k.

#include "modules/quant/block.h"

namespace krt::quant {

struct TQ1_0 {
  static constexpr BlockInfo kInfo{"TQ1_0", 34, 256, 54};
  static KRT_INLINE void digits(const std::uint8_t* bytes, int count, int digits_each, float d, float* out) {
    int power = 1;
    for (int k = 0; k < digits_each; ++k, power *= 3)
      for (int j = 0; j < count; ++j) {
        const int shifted = (bytes[j] * power) & 255;
        out[k * count + j] = static_cast<float>(((shifted * 3) >> 8) - 1) * d;
      }
  }
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block + 52);
    digits(block, 32, 5, d, out);
    digits(block + 32, 16, 5, d, out + 160);
    digits(block + 48, 4, 4, d, out + 240);
  }
};

}  // namespace krt::quant
