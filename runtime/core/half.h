#pragma once
// f16 and bf16 to and from f32. To a half type: round to nearest, ties to even; what is too large becomes an
// infinity; a NaN stays a quiet NaN. From a half type: exact.

#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/core/dtype.h"

namespace krt {

inline float to_f32(BF16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16U); }

inline BF16 to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U)};
}

// No branches: the product turns f16's bias of the exponent into f32's and its subnormals into normal numbers.
inline float to_f32(F16 x) {
  const std::uint32_t magnitude = x.bits & 0x7FFFU;
  const float value = std::bit_cast<float>(magnitude << 13U) * 0x1p112F;
  const std::uint32_t special = magnitude >= 0x7C00U ? 0x7F800000U : 0U;  // infinity and NaN
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | special | (x.bits & 0x8000U) << 16U);
}

inline F16 to_f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16U) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return {static_cast<std::uint16_t>(sign | 0x7E00U | ((bits >> 13U) & 0x3FFU))};
  if (magnitude >= 0x477FF000U) return {static_cast<std::uint16_t>(sign | 0x7C00U)};  // rounds past 65504
  if (magnitude < 0x38800000U) {
    // Subnormal: adding 0.5 leaves the fraction, rounded to nearest even by the FPU, in the low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U))};
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13U) & 1U) - 0x38000000U;
  return {static_cast<std::uint16_t>(sign | (rounded >> 13U))};
}

}  // namespace krt
