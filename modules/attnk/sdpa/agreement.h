#pragma once
// Agreement: how far two computations of the same values are apart, as the *Agreement results of the family report it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace krt::attnk {

struct Agreement {
  double max_delta = 0;
  double tolerance_at_max = 0;  // of the value whose delta is the largest
  bool within = true;
  std::int64_t compared = 0;

  // Two NaNs, or two equal infinities, agree; one NaN is infinitely far from everything else.
  void add(double got, double want, double tolerance) {
    const bool same = got == want || (std::isnan(got) && std::isnan(want));
    double delta = same ? 0 : std::fabs(got - want);
    if (std::isnan(delta)) delta = std::numeric_limits<double>::infinity();
    if (delta > max_delta || compared == 0) {
      max_delta = delta;
      tolerance_at_max = tolerance;
    }
    within = within && delta <= tolerance;
    ++compared;
  }
  void add(std::span<const double> got, std::span<const double> want, double tolerance) {
    for (std::size_t i = 0; i < want.size(); ++i) add(got[i], want[i], tolerance);
  }
};

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
