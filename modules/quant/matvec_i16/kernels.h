#pragma once
// What the forms of quant.matvec_i16 share.

#include "modules/quant/matvec_i16/matvec_i16.h"

namespace krt::quant {

// One column: q, and for groups of 32 and of 16 the scales and sums.
using RoundColumn = void(const float* x, std::size_t cols, std::int16_t* q, float* scales32, float* sums32,
                         float* scales16, float* sums16);
RoundColumn round_column_plain;
const std::vector<Variant<RoundColumn>>& round_column_variants();  // all with the same bits
inline constexpr float kSmallestBlock = 0x1p-90F;                  // 32767 / m is finite

MatVecI16* matvec_i16_plain(std::size_t index);  // for WeightFormats[index]

}  // namespace krt::quant
