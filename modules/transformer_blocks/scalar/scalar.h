#pragma once
// transformer_blocks: the scalar formulas of a transformer layer, one f64 at a time. Names are Algenta's; where a name
// leaves the formula open, the comment says which one it is.
//
// Bits     every operation is one IEEE operation in the order written; gated_feedforward has the bits of the C
//          library's exp (within an ulp), which may differ from machine to machine
// Range    no argument is refused: what IEEE arithmetic gives (x / 0, NaN) is the answer

#include <cmath>
#include <limits>

namespace krt::transformer_blocks {

// One term of a head's output: sum over the keys is the caller's.
inline double attention_head_output(double value, double attention_weight) { return value * attention_weight; }

// A query sees the keys up to its own position.
inline double causal_mask_logit(double logit, double query_pos, double key_pos) {
  return key_pos <= query_pos ? logit : -std::numeric_limits<double>::infinity();
}

// Inverted dropout: what is kept is scaled up, so that inference needs no factor.
inline double dropout_scale(double x, double keep_prob) { return x / keep_prob; }

// The two layers of "Attention is all you need" (arXiv:1706.03762), for one weight: relu in the first only.
inline double feedforward_layer1(double x, double weight, double bias) {
  const double sum = x * weight + bias;
  return sum < 0 ? 0.0 : sum;  // a NaN stays one
}
inline double feedforward_layer2(double x, double weight, double bias) { return x * weight + bias; }

// The gated linear unit x * sigmoid(gate) (arXiv:1612.08083).
inline double gated_feedforward(double x, double gate) { return x / (1 + std::exp(-gate)); }

// The value where the head's slice [head * head_dim, (head + 1) * head_dim) lies inside the embedding, else 0.
inline double multi_head_split_head(double embedding_val, double head, double head_dim, double d_model) {
  return head >= 0 && (head + 1) * head_dim <= d_model ? embedding_val : 0.0;
}

// Norm after the sum, with the statistics folded into scale and bias.
inline double post_norm(double x, double sublayer_out, double norm_scale, double norm_bias) {
  return (x + sublayer_out) * norm_scale + norm_bias;
}

// Norm before the sublayer: the stream itself is not normalised. norm_out is what the sublayer read.
inline double pre_norm(double x, double /*norm_out*/, double sublayer_out) { return x + sublayer_out; }

inline double residual_connection(double x, double sublayer_out) { return x + sublayer_out; }

}  // namespace krt::transformer_blocks
