#pragma once
// Q6_K: 256 values of 6 bits in 16 sub-blocks of 16: 128 bytes of low nibbles, 64 bytes of high pairs, 16 signed
// scales, f16 d; value = (d * scale) * (q - 32). In each 128: low byte j holds values j (low nibble) and j + 64 (high
// nibble) for j < 64; high byte j holds the pairs of values j, j + 32, j + 64 and j + 96 from the low bits up.

#include "modules/quant/k_search.h"

namespace krt::quant {

struct Q6_K {
  static constexpr BlockInfo kInfo{"Q6_K", 14, 256, 210};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    const float d = load_f16(block + 208);
    for (int sub = 0; sub < 16; ++sub) {
      const int half = sub / 8;
      const int in_half = sub % 8 * 16;  // first value of the sub-block within its 128
      const std::uint8_t* low = block + half * 64 + in_half % 64;
      const std::uint8_t* high = block + 128 + half * 32 + in_half % 32;
      const float scale = d * static_cast<float>(static_cast<std::int8_t>(block[192 + sub]));
      for (int j = 0; j < 16; ++j) {
        const int q = ((low[j] >> (in_half / 64 * 4)) & 15) | ((high[j] >> (in_half / 32 * 2)) & 3) << 4;
        out[sub * 16 + j] = scale * static_cast<float>(q - 32);
      }
    }
  }
  static constexpr KFormat kSearch{
      .sub_values = 16, .zero = 32, .top = 63, .scale_low = -128, .scale_top = 127, .minimum_top = 0};
  static void encode(const float* x, std::uint8_t* block) {
    const KBlock<kSearch> k(x);
    std::fill_n(block, kInfo.bytes, std::uint8_t{0});
    for (std::size_t i = 0; i < 256; ++i) {
      put_bits(block[i / 128 * 64 + i % 64], k.level[i] & 15, i % 128 / 64 * 4);
      put_bits(block[128 + i / 128 * 32 + i % 32], k.level[i] >> 4, i % 128 / 32 * 2);
    }
    for (std::size_t sub = 0; sub < 16; ++sub) block[192 + sub] = static_cast<std::uint8_t>(k.scale[sub]);
    store_f16(block + 208, k.d);
  }
};

}  // namespace krt::quant
