#pragma once
// Agreement: how a function that checks another one (..._agrees, ..._gradcheck, ..._delta) compares its numbers; and
// the slope that a gradient is compared with.

#include <cmath>
#include <cstdint>

namespace krt {

class Agreement {
 public:
  // True where this pair is the furthest apart so far. Equal infinities agree; a NaN on either side never does.
  bool compare(double got, double want, double tolerance) {
    const double delta = got == want ? 0.0 : std::fabs(got - want);
    within_ = within_ && delta <= tolerance;
    const bool furthest = n_++ == 0 || (!std::isnan(max_delta_) && !(delta <= max_delta_));
    if (furthest) {
      max_delta_ = delta;
      tolerance_ = tolerance;
    }
    return furthest;
  }

  [[nodiscard]] double max_abs_delta() const { return max_delta_; }
  [[nodiscard]] double tolerance_at_max() const { return tolerance_; }  // of the pair that is furthest apart
  [[nodiscard]] bool within_tolerance() const { return within_; }       // every pair, each by its own tolerance
  [[nodiscard]] std::int64_t n_compared() const { return n_; }

  // For a result struct {max_abs_delta, tolerance_at_max, within_tolerance, n_compared, status}.
  template <class R>
  [[nodiscard]] R result(std::int64_t status) const {
    return {max_delta_, tolerance_, within_, n_, status};
  }

 private:
  double max_delta_ = 0, tolerance_ = 0;
  bool within_ = true;
  std::int64_t n_ = 0;
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
