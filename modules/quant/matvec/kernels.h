#pragma once
// What the forms of quant.matvec share.

#include <cstddef>

#include "modules/quant/block.h"
#include "modules/quant/matvec/matvec.h"

namespace krt::quant {

// Pairwise.
KRT_INLINE float sum_lanes(const float* lanes) {
  float s[kLanes / 2];
  for (std::size_t i = 0; i < kLanes / 2; ++i) s[i] = lanes[i] + lanes[i + kLanes / 2];
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

MatVec* matvec_plain(std::size_t index);  // for WeightFormats[index]

}  // namespace krt::quant
