#pragma once
// The 16 values of IQ4_NL and IQ4_XS, finer near zero.

#include <array>
#include <cstdint>

namespace krt::quant {

inline constexpr std::array<std::int8_t, 16> kIq4Values{-127, -104, -83, -65, -49, -35, -22, -10,
                                                        1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace krt::quant
