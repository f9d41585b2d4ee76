#pragma once
// Signs of eight values in seven bits: bit j set makes value j negative; the eighth bit makes the count of signs even.

#include "modules/quant/block.h"

namespace krt::quant {

KRT_INLINE unsigned even_signs(unsigned seven) {
  return seven | (static_cast<unsigned>(std::popcount(seven)) & 1U) << 7U;
}

// out[j] = scale * row[j], negated where bit j of `signs` is set, for `count` values.
KRT_INLINE void signed_values(const std::int8_t* row, int count, unsigned signs, float scale, float* out) {
  for (int j = 0; j < count; ++j) {
    const float value = scale * static_cast<float>(row[j]);
    out[j] = (signs >> static_cast<unsigned>(j) & 1U) != 0 ? -value : value;
  }
}

}  // namespace krt::quant
