#pragma once
// Q4_K: 256 values of 4 bits in 8 sub-blocks of 32: f16 d and dmin, 12 bytes of scales and minima (k_scales.h), 128
// bytes of values; value = (d * scale) * q - dmin * minimum. Each 32 bytes hold a sub-block in the low nibbles and the
// next in the high ones.

#include "modules/quant/k_scales.h"
#include "modules/quant/k_search.h"

namespace krt::quant {

struct Q4_K {
  static constexpr BlockInfo kInfo{"Q4_K", 12, 256, 144};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block);
    const float dmin = load_f16(block + 2);
    for (int sub = 0; sub < 8; ++sub) {
      const ScaleMin s = scale_min(block + 4, sub);
      const float scale = d * static_cast<float>(s.scale);
      const float minimum = dmin * static_cast<float>(s.minimum);
      const std::uint8_t* q = block + 16 + sub / 2 * 32;
      const int shift = sub % 2 * 4;
      for (int j = 0; j < 32; ++j) out[sub * 32 + j] = scale * static_cast<float>((q[j] >> shift) & 15) - minimum;
    }
  }
  static constexpr KFormat kSearch{
      .sub_values = 32, .zero = 0, .top = 15, .scale_low = 0, .scale_top = 63, .minimum_top = 63};
  static void encode(const float* x, std::uint8_t* block) {
    const KBlock<kSearch> k(x);
    std::fill_n(block, kInfo.bytes, std::uint8_t{0});
    store_k_scales(block, k);
    for (std::size_t i = 0; i < 256; ++i) put_bits(block[16 + i / 64 * 32 + i % 32], k.level[i], i % 64 / 32 * 4);
  }
};

}  // namespace krt::quant
