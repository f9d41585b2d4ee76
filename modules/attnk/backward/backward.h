#pragma once
// attnk.backward: the gradients of attnk.sdpa (without a bias) with respect to q, k and v, in f64, and their check by
// central differences.
//
//   dP[j] = dout . v[j],   dS[j] = P[j] (dP[j] - sum_j P[j] dP[j]),   P the softmax of the scores
//   dq = scale sum_j dS[j] k[j],   dk[j] = scale sum_i dS[i][j] q[i],   dv[j] = sum_i P[i][j] dout[i]
//
// Shapes   dout, q, dq: [n_tok_q][h_q][d]; k, v, dk, dv: [n_tok_k][h_kv][d]; dk and dv sum over the query heads of
//          their group: heads first, then queries, each in order
// Bits     one part a key-value head, sums in the stated order: the same bits for every thread count
// Error    each term as attnk.sdpa; sums over n_tok_q * group terms add that many roundings
// NaN      of q, k, v or dout spreads to every gradient that has a term with it; a term of probability 0 is left out
// Status   360; else those of attnk.sdpa, then 371 dout
// Source   Dao et al., FlashAttention (2022), appendix B.2

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::attnk {

struct SdpaGrad {
  std::vector<double> dq, dk, dv;
  std::int64_t n_tok_q, n_tok_k, status;
  static constexpr std::array kFields{"dq", "dk", "dv", "n_tok_q", "n_tok_k", "status"};
};

struct BwdAgreement {
  double max_abs_delta, tolerance_at_max;
  bool within_tolerance;
  std::int64_t n_compared, status;
  static constexpr std::array kFields{"max_abs_delta", "tolerance_at_max", "within_tolerance", "n_compared", "status"};
};

SdpaGrad sdpa_bwd_flat(Context& context, std::span<const double> dout, std::span<const double> q,
                       std::span<const double> k, std::span<const double> v, std::int64_t n_tok_q, std::int64_t n_tok_k,
                       std::int64_t h_q, std::int64_t h_kv, std::int64_t d, double scale);

// Compares sdpa_bwd_flat for dout[i] = 1 + (i mod 5) / 4 with (loss(x + step) - loss(x - step)) / 2 step of every
// element x of q, k and v, loss = sum dout . out. step must be finite and > 0 (366). The tolerance is a bound on what
// central differences can be off by, with L = n_tok_q (h_q / h_kv) d max |dout| max |v| and A = scale max(|q|, |k|):
//   L (11 step^2 A^3 + 2^-52 (2 n_tok_k + 16 + (d + 4) scale d max |q| max |k|) / step)
// the first term from |f'''| <= 64 max |v| A^3 of a softmax average along a line, the second from f64 rounding.
// Work beyond kMaxWork (376) counts d + 2 n_tok_k evaluations of the forward pass.
BwdAgreement attn_bwd_gradcheck_flat(Context& context, std::span<const double> q, std::span<const double> k,
                                     std::span<const double> v, std::int64_t n_tok_q, std::int64_t n_tok_k,
                                     std::int64_t h_q, std::int64_t h_kv, std::int64_t d, double scale, double step);

}  // namespace krt::attnk
