#pragma once
// What the encoders share. A format that can be encoded has, beside decode (block.h),
//
//   static void encode(const float* x, std::uint8_t* block);         // kInfo.values finite values, |x| <= 2^40
//
// It writes kInfo.bytes bytes. The bytes of F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0 are those that the `gguf` Python
// package 0.19 writes, but where a scale is so small that its inverse overflows (below 2^-128: it is stored as 0);
// those of the K formats are krt's own (k_search.h).

#include <algorithm>
#include <array>
#include <cmath>

#include "modules/quant/block.h"

namespace krt::quant {

inline void store_f16(std::uint8_t* p, float x) {
  const F16 half = to_f16(x);
  std::memcpy(p, &half.bits, sizeof half.bits);
}
inline float as_f16(float x) { return to_f32(to_f16(x)); }

// 1 / x, or 0 where that is infinite.
inline float inverse(float x) {
  const float y = 1 / x;
  return std::isinf(y) ? 0 : y;
}

// The integer nearest to v + offset, half-way up, in [0, top]; 0 for a NaN.
inline int nearest_level(float v, int offset, int top) {
  const float t = v + (static_cast<float>(offset) + 0.5F);
  const auto most = static_cast<float>(top);
  return static_cast<int>(t > 0 ? (t < most ? t : most) : 0);
}

// The value of the largest magnitude, the first of equals.
inline float extreme(const float* x, int n) {
  float most = x[0];
  for (int i = 1; i < n; ++i)
    if (std::fabs(x[i]) > std::fabs(most)) most = x[i];
  return most;
}

// 32 levels of 4 or 5 bits.
using Levels32 = std::array<int, 32>;

// (x - zero) / step + offset in whole levels.
inline Levels32 levels_of(const float* x, float zero, float step, int offset, int top) {
  const float scale = inverse(step);
  Levels32 q;
  for (std::size_t j = 0; j < 32; ++j) q[j] = nearest_level((x[j] - zero) * scale, offset, top);
  return q;
}
// The low four bits: byte j holds levels j (low) and j + 16 (high).
inline void store_nibbles(std::uint8_t* p, const Levels32& q) {
  for (std::size_t j = 0; j < 16; ++j) p[j] = static_cast<std::uint8_t>((q[j] & 15) | (q[j + 16] & 15) << 4);
}
// The fifth bits: bit j of a u32 belongs to level j.
inline void store_fifth_bits(std::uint8_t* p, const Levels32& q) {
  std::uint32_t high = 0;
  for (std::size_t j = 0; j < 32; ++j) high |= static_cast<std::uint32_t>(q[j] >> 4) << j;
  std::memcpy(p, &high, sizeof high);
}

// The smallest value and the step from it to the largest in `top` steps.
struct MinStep {
  float minimum, step;
};
inline MinStep min_step(const float* x, int top) {
  const auto [low, high] = std::minmax_element(x, x + 32);
  return {*low, (*high - *low) / static_cast<float>(top)};
}

}  // namespace krt::quant
