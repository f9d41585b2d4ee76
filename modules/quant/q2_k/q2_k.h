#pragma once
// Q2_K: 256 values of 2 bits in 16 sub-blocks of 16. 16 bytes of scale (low nibble) and minimum (high nibble), 64
// bytes of values, f16 d and dmin; value = (d * scale) * q - dmin * minimum. In each 128, byte j holds values j,
// j + 32, j + 64 and j + 96 from the low bits up.

#include "modules/quant/k_search.h"

namespace krt::quant {

struct Q2_K {
  static constexpr BlockInfo kInfo{"Q2_K", 10, 256, 84};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block + 80);
    const float dmin = load_f16(block + 82);
    for (int sub = 0; sub < 16; ++sub) {
      const std::uint8_t* q = block + 16 + sub / 8 * 32 + sub % 2 * 16;
      const int shift = sub % 8 / 2 * 2;
      const float scale = d * static_cast<float>(block[sub] & 15);
      const float minimum = dmin * static_cast<float>(block[sub] >> 4);
      for (int j = 0; j < 16; ++j) out[sub * 16 + j] = scale * static_cast<float>((q[j] >> shift) & 3) - minimum;
    }
  }
  static constexpr KFormat kSearch{
      .sub_values = 16, .zero = 0, .top = 3, .scale_low = 0, .scale_top = 15, .minimum_top = 15};
  static void encode(const float* x, std::uint8_t* block) {
    const KBlock<kSearch> k(x);
    std::fill_n(block, kInfo.bytes, std::uint8_t{0});
    for (std::size_t sub = 0; sub < 16; ++sub)
      block[sub] = static_cast<std::uint8_t>(k.scale[sub] | k.minimum[sub] << 4);
    for (std::size_t i = 0; i < 256; ++i) put_bits(block[16 + i / 128 * 32 + i % 32], k.level[i], i % 128 / 32 * 2);
    store_f16(block + 80, k.d);
    store_f16(block + 82, k.dmin);
  }
};

}  // namespace krt::quant
