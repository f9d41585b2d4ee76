#pragma once
// attnk.flash: attnk.sdpa computed one block of keys after another, so that no row of scores is ever whole in memory.
//
// Shapes, masks, NaN rules and refusals are those of attnk.sdpa; block_k < 1 is 361. The result differs from sdpa's by
// rounding only, both being made of the same scores. Bits depend on block_k, not on the thread count.
// Source: Dao et al., FlashAttention (2022); Milakov and Gimelshein (2018) for the online softmax.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "modules/attnk/sdpa/sdpa.h"

namespace krt::attnk {

struct FlashOut {
  std::vector<double> out, lse;
  std::int64_t n_tok, n_heads, head_dim;
  std::int64_t blocks_walked;  // of every query row: ceil(n_tok_k / block_k)
  std::int64_t status;
  static constexpr std::array kFields{"out", "lse", "n_tok", "n_heads", "head_dim", "blocks_walked", "status"};
};

struct FlashPlan {
  std::int64_t block_k, n_blocks;
  std::int64_t working_bytes;  // of one row: block_k keys, values and scores, one query, one output, maximum and sum
  double materialized_bytes;   // of the s_k x s_k score matrix of one head that is never made
  std::int64_t status;
  static constexpr std::array kFields{"block_k", "n_blocks", "working_bytes", "materialized_bytes", "status"};
};

struct FlashAgreement {
  double max_out_delta, max_lse_delta;
  double tolerance_at_max;  // of the output whose delta is the largest
  bool within_tolerance;
  std::int64_t n_compared, status;
  static constexpr std::array kFields{"max_out_delta",    "max_lse_delta", "tolerance_at_max",
                                      "within_tolerance", "n_compared",    "status"};
};

FlashOut flash_forward_flat(Context& context, std::span<const double> q, std::span<const double> k,
                            std::span<const double> v, std::span<const double> bias, std::int64_t n_tok_q,
                            std::int64_t n_tok_k, std::int64_t h_q, std::int64_t h_kv, std::int64_t d, double scale,
                            bool use_bias, std::int64_t block_k);
// The largest block of at most s_k keys whose working set fits cache_bytes; 366 where not one key does.
FlashPlan flash_block_plan(std::int64_t s_k, std::int64_t d, std::int64_t cache_bytes);
// Runs both and compares every output, to t = (2 n_tok_k + 16) 2^-52 of the largest |v|, and every log-sum-exp, to t of
// max(1, |lse|). NaN against NaN agrees.
FlashAgreement flash_agrees_with_sdpa(Context& context, std::span<const double> q, std::span<const double> k,
                                      std::span<const double> v, std::span<const double> bias, std::int64_t n_tok_q,
                                      std::int64_t n_tok_k, std::int64_t h_q, std::int64_t h_kv, std::int64_t d,
                                      double scale, bool use_bias, std::int64_t block_k);

}  // namespace krt::attnk
