#pragma once
// fused_kernels: scalar formulas of fused operations, one f64 at a time. Names are Algenta's.
//
// Bits     every operation is one IEEE operation in the order written; nothing is contracted

namespace krt::fused_kernels {

inline double fused_add_norm(double x, double sublayer, double mean, double inv_std, double gamma, double beta) {
  return ((x + sublayer) - mean) * inv_std * gamma + beta;
}

}  // namespace krt::fused_kernels
