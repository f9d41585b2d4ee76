#pragma once
// What two computations of one attention may differ by; modules/agreement.h compares them.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "modules/agreement.h"

namespace krt::attnk {

// The largest finite magnitude.
inline double magnitude(std::span<const double> values) {
  double m = 0;
  for (const double x : values)
    if (std::isfinite(x)) m = std::max(m, std::fabs(x));
  return m;
}

// How far two f64 evaluations of one softmax-weighted sum over n keys may be apart, relative to the largest value: each
// term carries its exponential's error and its argument's rounding, each partial sum one rounding, each block of an
// online softmax one rescaling.
inline double softmax_tolerance(std::size_t n) {
  return (2 * static_cast<double>(n) + 16) * std::numeric_limits<double>::epsilon();
}

}  // namespace krt::attnk
