#pragma once
// attnk.mask: which key a query may see, as an additive bias: 0 where it may, -infinity where it may not.
//
// Shapes      bias: [s_q][s_k], n_masked of them -infinity
// Convention  query i stands at position i + offset, key j at position j. A bias is added to the scaled score before
//             the softmax; a key whose bias is -infinity is not read (attnk.sdpa), so padding may hold anything
// Bits        exact, the same everywhere
// Refused     361, 362 (also an offset beyond +-2^24), 376 (s_q * s_k > kMaxCells), and what each states; bias is empty
//
// The convention of torch's attn_mask (float) and of transformers' sliding_window (positions p - window < j <= p).

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::attnk {

struct MaskSpec {
  std::vector<double> bias;
  std::int64_t s_q, s_k, n_masked, status;
  static constexpr std::array kFields{"bias", "s_q", "s_k", "n_masked", "status"};
};

struct MaskConvention {
  double additive_bias, masked_logit, input_logit;
  bool same_shape;
  static constexpr std::array kFields{"additive_bias", "masked_logit", "input_logit", "same_shape"};
};

// Key j is seen where j <= i + offset. offset = s_k - s_q is decoding with a cache: the last query sees every key.
MaskSpec mask_causal_flat(std::int64_t s_q, std::int64_t s_k, std::int64_t offset);
// Key j is seen where i + offset - window < j <= i + offset; window >= 1 (361).
MaskSpec mask_sliding_window_flat(std::int64_t s_q, std::int64_t s_k, std::int64_t window, std::int64_t offset);
// Key j is seen where j < valid_len; 0 <= valid_len <= s_k (366).
MaskSpec mask_padding_flat(std::int64_t valid_len, std::int64_t s_q, std::int64_t s_k);
// Packed sequences, s_q = s_k = total: token i sees the tokens of its own sequence; with `causal`, those up to itself.
// cu_seqlens rises from 0 to total in n_seq + 1 entries (372 for another length, 375 for another content).
MaskSpec mask_block_diagonal_flat(std::span<const std::int64_t> cu_seqlens, std::int64_t n_seq, std::int64_t total,
                                  bool causal);
// a + b, so that a key is seen where both see it and other biases (ALiBi) add up; s_q 1, s_k n. Exactly n values each
// (372).
MaskSpec mask_combine_flat(std::span<const double> a, std::span<const double> b, std::int64_t n);

// The first row of `bias` that sees no key, -1 where every row sees one; a refusal is its status negated (-361, -370).
std::int64_t mask_row_fully_masked(std::span<const double> bias, std::int64_t s_q, std::int64_t s_k);

// One causal decision by both conventions in use. additive_bias: 0 where key_pos <= query_pos, else -infinity;
// masked_logit: what replacing gives (the logit where seen, else -infinity); same_shape: adding gives that very number
// (it does not where a masked logit is NaN or +infinity).
MaskConvention mask_convention_agreement(double query_pos, double key_pos, double logit);

}  // namespace krt::attnk
