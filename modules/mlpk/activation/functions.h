#pragma once
// The activation functions of the family and their derivatives, one f64 at a time. u = 2^-53.
//
//   silu(x) = x / (1 + e^-x)              |error| <= 6 u |silu|
//   gelu_erf(x) = x/2 erfc(-x / sqrt 2)   |error| <= (2 x^2 + 8) u |gelu|, in the left tail too
//   gelu_tanh(x) = x/2 (1 + tanh(t))      |error| <= 4 u |x|, t = sqrt(2/pi) (x + 0.044715 x^3)
//   gelu_tanh_fast(x) = x / (1 + e^-2t)   |error| <= (8 |t| + 8) u |gelu|, without a tanh: the same function of x
// and no more than 2^-1064 beyond that where a factor is subnormal. Derivatives: |error| <= 16 u (1 + x^2).
//
// Range    +inf gives +inf, -inf gives NaN (-inf * 0, as torch answers); the derivatives there are their limits, 1 and
//          0; NaN gives NaN; every finite x gives a finite value
// Bits     of the C library's exp, tanh and erfc, which may differ from machine to machine by an ulp

#include <cmath>
#include <numbers>

namespace krt::mlpk {

// x sigmoid(t), by e^-|t| <= 1, which cannot overflow.
inline double times_sigmoid(double x, double t) {
  const double e = std::exp(-std::fabs(t));
  return (t < 0 ? x * e : x) / (1 + e);
}

inline double silu(double x) { return times_sigmoid(x, x); }

inline double silu_grad(double x) {
  const double s = times_sigmoid(1, x), rest = times_sigmoid(1, -x);  // 1 - s, without its cancellation
  return s * rest == 0 ? s : s * (1 + x * rest);                      // x may be infinite
}

inline double gelu_erf(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }

inline double gelu_erf_grad(double x) {
  const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return 0.5 * std::erfc(-x / std::numbers::sqrt2) + (density == 0 ? 0.0 : x * density);
}

inline constexpr double kGeluScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
inline constexpr double kGeluCubic = 0.044715;

inline double gelu_tanh_argument(double x) { return kGeluScale * (x + kGeluCubic * x * x * x); }

inline double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(gelu_tanh_argument(x))); }

inline double gelu_tanh_fast(double x) { return times_sigmoid(x, 2 * gelu_tanh_argument(x)); }

inline double gelu_tanh_grad(double x) {
  const double t = std::tanh(gelu_tanh_argument(x)), flat = 1 - t * t;
  if (flat == 0) return 0.5 * (1 + t);  // where x^2 may be infinite
  return 0.5 * (1 + t) + 0.5 * x * flat * kGeluScale * (1 + 3 * kGeluCubic * x * x);
}

}  // namespace krt::mlpk
