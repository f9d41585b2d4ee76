#pragma once
// The values of a 4-bit float (sign, two exponent bits, one fraction bit), doubled so that they are integers.

#include <array>
#include <cstdint>

namespace krt::quant {

inline constexpr std::array<std::int8_t, 16> kFp4Doubled{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace krt::quant
