#pragma once
// Q3_K: 256 values of 3 bits in 16 sub-blocks of 16: 32 bytes of high bits, 64 bytes of low pairs, 12 bytes of sixteen
// 6-bit scales (biased by 32), f16 d; value = (d * (scale - 32)) * (q - 4). Low pairs lie as in Q2_K; bit b of high
// byte j belongs to value 32 b + j.

#include "modules/quant/k_search.h"

namespace krt::quant {

struct Q3_K {
  static constexpr BlockInfo kInfo{"Q3_K", 11, 256, 110};
  static KRT_INLINE int scale(const std::uint8_t* packed, int sub) {
    const int low = sub < 8 ? packed[sub] & 15 : packed[sub - 8] >> 4;
    return low | ((packed[8 + sub % 4] >> (sub / 4 * 2)) & 3) << 4;
  }
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block + 108);
    for (int sub = 0; sub < 16; ++sub) {
      const std::uint8_t* high = block + sub % 2 * 16;
      const std::uint8_t* low = block + 32 + sub / 8 * 32 + sub % 2 * 16;
      const int shift = sub % 8 / 2 * 2;
      const float s = d * static_cast<float>(scale(block + 96, sub) - 32);
      for (int j = 0; j < 16; ++j) {
        const int q = ((low[j] >> shift) & 3) | ((high[j] >> (sub / 2)) & 1) << 2;
        out[sub * 16 + j] = s * static_cast<float>(q - 4);
      }
    }
  }
  static constexpr KFormat kSearch{
      .sub_values = 16, .zero = 4, .top = 7, .scale_low = -32, .scale_top = 31, .minimum_top = 0};
  static void encode(const float* x, std::uint8_t* block) {
    const KBlock<kSearch> k(x);
    std::fill_n(block, kInfo.bytes, std::uint8_t{0});
    for (std::size_t i = 0; i < 256; ++i) {
      put_bits(block[i % 32], k.level[i] >> 2, i / 32);
      put_bits(block[32 + i / 128 * 32 + i % 32], k.level[i] & 3, i % 128 / 32 * 2);
    }
    for (std::size_t sub = 0; sub < 16; ++sub) {
      const int biased = k.scale[sub] + 32;
      put_bits(block[96 + sub % 8], biased & 15, sub / 8 * 4);
      put_bits(block[104 + sub % 4], biased >> 4, sub / 4 * 2);
    }
    store_f16(block + 108, k.d);
  }
};

}  // namespace krt::quant
