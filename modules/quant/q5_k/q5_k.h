#pragma once
// Q5_K: Q4_K with a fifth bit: f16 d and dmin, 12 bytes of scales and minima (k_scales.h), 32 bytes of high bits, 128
// bytes of nibbles; value = (d * scale) * q - dmin * minimum. Bit `sub` of high byte j belongs to value j of sub-block
// `sub`.

#include "modules/quant/k_scales.h"
#include "modules/quant/k_search.h"

namespace krt::quant {

struct Q5_K {
  static constexpr BlockInfo kInfo{"Q5_K", 13, 256, 176};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    const float dmin = load_f16(block + 2);
    const std::uint8_t* high = block + 16;
    for (int sub = 0; sub < 8; ++sub) {
      const ScaleMin s = scale_min(block + 4, sub);
      const float scale = d * static_cast<float>(s.scale);
      const float minimum = dmin * static_cast<float>(s.minimum);
      const std::uint8_t* low = block + 48 + sub / 2 * 32;
      const int shift = sub % 2 * 4;
      for (int j = 0; j < 32; ++j) {
        const int q = ((low[j] >> shift) & 15) | ((high[j] >> sub) & 1) << 4;
        out[sub * 32 + j] = scale * static_cast<float>(q) - minimum;
      }
    }
  }
  static constexpr KFormat kSearch{
      .sub_values = 32, .zero = 0, .top = 31, .scale_low = 0, .scale_top = 63, .minimum_top = 63};
  static void encode(const float* x, std::uint8_t* block) {
    const KBlock<kSearch> k(x);
    std::fill_n(block, kInfo.bytes, std::uint8_t{0});
    store_k_scales(block, k);
    for (std::size_t i = 0; i < 256; ++i) {
      put_bits(block[16 + i % 32], k.level[i] >> 4, i / 32);
      put_bits(block[48 + i / 64 * 32 + i % 32], k.level[i] & 15, i % 64 / 32 * 4);
    }
  }
};

}  // namespace krt::quant
