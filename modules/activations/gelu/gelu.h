#pragma once
// activations.gelu: the tanh form of the Gaussian error linear unit, one f64 at a time.
//
//   gelu(x) = x / 2 * (1 + tanh(0.7978845608 * (x + 0.044715 x^3)))
//
// The published values gelu(1) = 0.841191990607477 and gelu(-1) = -0.1588080093925231 pin the constant: it is sqrt(2 /
// pi) cut after ten digits, so that gelu differs from torch's tanh form by up to 2e-12 |x|. mlpk.activation has the
// form with the full constant.
//
// Bits     of the C library's tanh, which may differ from machine to machine by an ulp
// Source   Hendrycks and Gimpel, arXiv:1606.08415

#include <cmath>

namespace krt::activations {

inline constexpr double kGeluScale = 0.7978845608;

inline double gelu(double x) { return 0.5 * x * (1 + std::tanh(kGeluScale * (x + 0.044715 * x * x * x))); }

}  // namespace krt::activations
