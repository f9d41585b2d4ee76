#pragma once
// Agreement: how a function that checks another one (..._agrees, ..._gradcheck, ..._delta) compares its numbers; and
// the slope that a gradient is compared with.

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace krt {

struct Agreement {
  double max_delta = 0;
  double tolerance_at_max = 0;  // of the value whose delta is the largest
  bool within = true;           // every value, each by its own tolerance
  std::int64_t compared = 0;

  // Two NaNs, or two equal infinities, agree; one NaN is infinitely far from everything else. True where this pair is
  // the furthest apart so far.
  bool add(double got, double want, double tolerance) {
    const bool same = got == want || (std::isnan(got) && std::isnan(want));
    double delta = same ? 0 : std::fabs(got - want);
    if (std::isnan(delta)) delta = std::numeric_limits<double>::infinity();
    const bool furthest = delta > max_delta || compared == 0;
    if (furthest) {
      max_delta = delta;
      tolerance_at_max = tolerance;
    }
    within = within && delta <= tolerance;
    ++compared;
    return furthest;
  }
  void add(std::span<const double> got, std::span<const double> want, double tolerance) {
    for (std::size_t i = 0; i < want.size(); ++i) add(got[i], want[i], tolerance);
  }

  // For a result struct {max_abs_delta, tolerance_at_max, within_tolerance, n_compared, status}.
  template <class R>
  [[nodiscard]] R result(std::int64_t status) const {
    return {max_delta, tolerance_at_max, within, compared, status};
  }
};

// A loss and how far rounding may have moved it.
struct Loss {
  double value, rounding;
};

struct Slope {
  double value, tolerance;
};

// d loss / d v by central differences at `step` and at half of it, extrapolated (Richardson). The tolerance is what the
// two differ by, which bounds the error of the extrapolated one for a smooth loss, plus the rounding of the losses over
// the step. `loss` reads v; v is left as it was.
template <class LossFn>
Slope central_slope(double& v, double step, const LossFn& loss) {
  const double at = v;
  double rounding = 0;
  const auto difference = [&](double h) {
    const double above = at + h, below = at - h;
    v = above;
    const Loss up = loss();
    v = below;
    const Loss down = loss();
    v = at;
    rounding += (up.rounding + down.rounding) / (above - below);
    return (up.value - down.value) / (above - below);  // the step that was really taken
  };
  const double wide = difference(step), narrow = difference(step / 2);
  return {(4 * narrow - wide) / 3, std::fabs(narrow - wide) + 2 * rounding};
}

// The fixed weights of the losses of gradient checks: of both signs, none zero, no two neighbours equal.
inline double loss_weight(std::size_t i) { return static_cast<double>(i % 7) * 0.25 - 0.65; }

}  // namespace krt
