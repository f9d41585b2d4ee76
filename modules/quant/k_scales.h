#pragma once
// The scales of Q4_K and Q5_K: eight 6-bit scales and eight 6-bit minima in 12 bytes. The first four of each are the
// low six bits of bytes 0-3 and 4-7; of the last four, the low nibbles are in bytes 8-11 and the high pairs in the
// top two bits of bytes 0-7.

#include "modules/quant/encode.h"

namespace krt::quant {

struct ScaleMin {
  int scale, minimum;
};
KRT_INLINE ScaleMin scale_min(const std::uint8_t* packed, int sub) {
  if (sub < 4) return {packed[sub] & 63, packed[sub + 4] & 63};
  return {(packed[sub + 4] & 15) | (packed[sub - 4] >> 6) << 4, (packed[sub + 4] >> 4) | (packed[sub] >> 6) << 4};
}
// Into bytes that were zero.
inline void store_scale_min(std::uint8_t* packed, int sub, ScaleMin s) {
  const auto put = [&](int byte, int bits) { packed[byte] = static_cast<std::uint8_t>(packed[byte] | bits); };
  if (sub < 4) {
    put(sub, s.scale);
    put(sub + 4, s.minimum);
  } else {
    put(sub + 4, (s.scale & 15) | (s.minimum & 15) << 4);
    put(sub - 4, s.scale >> 4 << 6);
    put(sub, s.minimum >> 4 << 6);
  }
}
// What stands before the levels of Q4_K and Q5_K, of a KBlock (k_search.h); into a block that was zero.
template <class K>
void store_k_scales(std::uint8_t* block, const K& k) {
  store_f16(block, k.d);
  store_f16(block + 2, k.dmin);
  for (int sub = 0; sub < 8; ++sub) store_scale_min(block + 4, sub, {k.scale[sub], k.minimum[sub]});
}

}  // namespace krt::quant
