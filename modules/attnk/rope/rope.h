#pragma once
// attnk.rope: rotary position embeddings in f64. Pair p of a head turns by pos * inv_freq[p]:
//
//   out[a] = x[a] cos - x[b] sin,   out[b] = x[b] cos + x[a] sin
//
// Pairs     interleaved false: (p, p + head_dim / 2), the half-split convention of GPT-NeoX, Llama and Qwen;
//           interleaved true: (2p, 2p + 1), the convention of the RoFormer paper
// Shapes    x, values: [n_tok][n_heads][head_dim]; tables: [max_pos][head_dim / 2]; pos: [n_tok]
// Tables    cos and sin of pos * inv_freq, off by at most rope_bound(theta, angle) from exact arithmetic
// Apply     two products and one sum a value: error <= 2 * 2^-52 * (|x[a]| + |x[b]|); equal bits at every thread count
// NaN, inf  IEEE: a non-finite value of x reaches both values of its pair and no other
// Positions 0 <= pos < rows of the table, else 374; they need not rise or differ
// Sources   Su et al., RoFormer (2021), formula 34; llama3 scaling as in transformers' modeling_rope_utils; frequency
//           factors as GGUF's rope_freqs.weight defines them (inv_freq[p] / factor[p])

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::attnk {

// 2^-52 (2 + (10 + |ln theta|) angle): the power's argument is rounded, which costs |ln theta|, and so are the power,
// the scaling and the angle.
inline double rope_bound(double theta, double angle) {
  return 0x1p-52 * (2 + (10 + std::fabs(std::log(theta))) * angle);
}

struct RopeTable {
  std::vector<double> cos_table, sin_table;
  std::int64_t max_pos, n_pairs;
  double theta;
  std::int64_t status;
  static constexpr std::array kFields{"cos_table", "sin_table", "max_pos", "n_pairs", "theta", "status"};
};

struct RopeApplied {
  std::vector<double> values;
  std::int64_t n_tok, n_heads, head_dim, status;
  static constexpr std::array kFields{"values", "n_tok", "n_heads", "head_dim", "status"};
};

struct RopeAgreement {
  double squared_convention, linear_convention, ratio;
  bool agree;
  static constexpr std::array kFields{"squared_convention", "linear_convention", "ratio", "agree"};
};

// theta^(-2p / head_dim) for every pair. Empty where head_dim is < 2, odd or > kMaxDim, or theta is not finite and > 0.
std::vector<double> rope_inv_freq(std::int64_t head_dim, double theta);
// The same, long waves divided by `factor`, short ones kept, blended in between: with w = 2 pi / f,
//   w > original / low_freq_factor: f / factor;  w < original / high_freq_factor: f;
//   else (1 - t) f / factor + t f, t = (original / w - low_freq_factor) / (high_freq_factor - low_freq_factor).
// Empty also where a parameter is not finite and > 0, or high_freq_factor <= low_freq_factor.
std::vector<double> rope_inv_freq_llama3(std::int64_t head_dim, double theta, double factor, double low_freq_factor,
                                         double high_freq_factor, double original_max_position_embeddings);

// Refused: 361, 362, 364 (odd head_dim), 366 (theta or another parameter), 376 (max_pos * head_dim / 2 > kMaxCells),
// 372 (len(freq_factors) != head_dim / 2). A factor must be finite and > 0 (366).
RopeTable rope_table(Context& context, std::int64_t head_dim, std::int64_t max_pos, double theta);
RopeTable rope_table_llama3(Context& context, std::int64_t head_dim, std::int64_t max_pos, double theta, double factor,
                            double low_freq_factor, double high_freq_factor, double original_max_position_embeddings);
RopeTable rope_table_freq_factors(Context& context, std::int64_t head_dim, std::int64_t max_pos, double theta,
                                  std::span<const double> freq_factors);

// Refused: 361, 362, 364, 372 (len(x), len(pos)), 373 (len(cos_t) no multiple of head_dim / 2, or not len(sin_t)), 374.
RopeApplied rope_apply_flat(Context& context, std::span<const double> x, std::span<const double> cos_t,
                            std::span<const double> sin_t, std::int64_t n_tok, std::int64_t n_heads,
                            std::int64_t head_dim, std::span<const std::int64_t> pos, bool interleaved);
// Turns back: the same with -sin.
RopeApplied rope_apply_inverse_flat(Context& context, std::span<const double> x, std::span<const double> cos_t,
                                    std::span<const double> sin_t, std::int64_t n_tok, std::int64_t n_heads,
                                    std::int64_t head_dim, std::span<const std::int64_t> pos, bool interleaved);

// The base for a context `factor` times longer, by convention: 0 none (base), 1 linear (base * factor), 2 squared
// (base * factor^2). 0 where base or factor is not finite and > 0, or the code is another.
double rope_theta_for(double base, double factor, std::int64_t scaling_code);
// Both conventions for factor = target_context / original_context, ratio = squared / linear, and whether they are one
// number (they are where the context does not grow). Zeros and false for values that are not finite and > 0.
RopeAgreement rope_theta_agreement(double base, double original_context, double target_context);

}  // namespace krt::attnk
