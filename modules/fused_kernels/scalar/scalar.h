#pragma once
// fused_kernels: scalar formulas of fused operations, one f64 at a time. Names are Algenta's; where a name leaves the
// formula open, the comment says which one it is. Flags are numbers: 0 is no, anything else is yes.
//
// Bits     every operation is one IEEE operation in the order written, nothing is contracted; fused_softmax_mask and
//          fused_matmul_bias_gelu have the bits of the C library's exp and tanh, which may differ by machine
// Range    no argument is refused: what IEEE arithmetic gives (x / 0, NaN) is the answer

#include <cmath>

#include "modules/activations/gelu/gelu.h"

namespace krt::fused_kernels {

inline double fused_scale_shift(double x, double scale, double shift) { return x * scale + shift; }

inline double fused_layernorm_element(double x, double mean, double inv_std, double gamma, double beta) {
  return (x - mean) * inv_std * gamma + beta;
}

inline double fused_add_norm(double x, double sublayer, double mean, double inv_std, double gamma, double beta) {
  return fused_layernorm_element(x + sublayer, mean, inv_std, gamma, beta);
}

// One term of a score, with an additive mask: -inf hides the key.
inline double fused_attention_score(double q, double k, double head_dim, double mask_value, double is_masked) {
  return q * k / std::sqrt(head_dim) + (is_masked != 0 ? mask_value : 0.0);
}

// Inverted dropout on the sublayer, then the residual sum.
inline double fused_dropout_residual(double x, double sublayer, double keep_prob, double is_kept) {
  return x + (is_kept != 0 ? sublayer / keep_prob : 0.0);
}

inline double fused_matmul_bias_gelu(double dot_product, double bias) { return activations::gelu(dot_product + bias); }

inline double fused_matmul_bias_relu(double dot_product, double bias) {
  const double sum = dot_product + bias;
  return sum < 0 ? 0.0 : sum;  // a NaN stays one
}

// One term of a score of rotated vectors: q and k are the first members of their pairs, q_pair and k_pair the second.
inline double fused_rope_attention(double q, double k, double cos_val, double sin_val, double q_pair, double k_pair,
                                   double head_dim) {
  const double q_rotated = q * cos_val - q_pair * sin_val;
  const double k_rotated = k * cos_val - k_pair * sin_val;
  return q_rotated * k_rotated / std::sqrt(head_dim);
}

// sum_exp is the sum of exp(logit - logit_max) over the row.
inline double fused_softmax_mask(double logit, double logit_max, double sum_exp, double is_valid) {
  return is_valid != 0 ? std::exp(logit - logit_max) / sum_exp : 0.0;
}

// Bytes of memory traffic that fusing saves: every intermediate but the last result, written once and read once.
inline double kernel_fusion_savings(double n_fused_ops, double bytes_per_intermediate, double n_elements) {
  return n_fused_ops > 1 ? 2 * (n_fused_ops - 1) * bytes_per_intermediate * n_elements : 0.0;
}

}  // namespace krt::fused_kernels
