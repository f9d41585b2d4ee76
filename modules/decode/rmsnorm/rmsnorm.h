#pragma once
// decode.rmsnorm and decode.add_rmsnorm: root-mean-square layer norm of one or more rows of d values,
//
//   out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i]
//
// and the same with the residual add of the layer before it: residual += x in place, then the norm of the residual.
// Source: Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019).
//
// Shapes    weight: d values; x, residual, out: rows * d values, rows = len(x) / d; 1 <= d <= 2^24
// Types     f32; f16 and bf16 are converted at the edge. The output is f32. A residual of a half type takes the rounded
//           sum, the norm is of the sum in f32
// Aliasing  residual overlaps neither x nor weight
// Error     the sum of squares in f64, so that no finite row overflows or underflows: the scale is rounded to f32 once,
//           and each output is two f32 products more: |out - exact| <= 4 * 2^-24 |exact| for every d, plus
//           2^-149 (1 + |weight|) where a product is subnormal. It holds where the scale fits an f32 (eps, or else the
//           mean square, at least 2^-250)
// Bits      for one variant the same whatever the thread count and the number of rows; the variants differ within the
//           bound, but for the residual, which is one f32 addition per element
// Special   a NaN makes its row NaN; an infinity makes its row 0, itself NaN; an all-zero row with eps 0 is NaN
// Status    600; else 601 (weight or x empty), 602 (d), 604 (x is no whole number of rows), 605 (len(residual) !=
//           len(x)), 611 (overlap), 612 (eps negative or not finite), with out empty and the residual unchanged

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/dispatch/variant.h"
#include "runtime/registry/floats.h"

namespace krt::decode {

struct RmsNormResult {
  std::vector<float> out;
  std::int64_t status;
  static constexpr std::array kFields{"out", "status"};
};
RmsNormResult rmsnorm(Context& context, const Floats& x, const Floats& weight, double eps);
RmsNormResult add_rmsnorm(Context& context, const FloatsInPlace& residual, const Floats& x, const Floats& weight,
                          double eps);

// 600, 601, 602 or 604: what both check first.
std::int64_t rmsnorm_shape_check(std::size_t len_x, std::size_t len_weight);

// Without an allocation: out has the length of x, and the caller has made the checks.
void rmsnorm_rows(Context& context, std::span<const float> x, std::span<const float> weight, double eps,
                  std::span<float> out);
void add_rmsnorm_rows(Context& context, std::span<float> residual, std::span<const float> x,
                      std::span<const float> weight, double eps, std::span<float> out);

// One row: the norm of x or, where there is a residual (not null), residual += x and the norm of that.
using RmsNormRow = void(float* residual, const float* x, const float* weight, std::size_t d, double eps, float* out);
RmsNormRow rmsnorm_row_reference;  // in f64, rounded once: the variant "scalar"
const std::vector<Variant<RmsNormRow>>& rmsnorm_variants();

}  // namespace krt::decode
