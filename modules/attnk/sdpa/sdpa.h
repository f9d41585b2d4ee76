#pragma once
// attnk.sdpa: scaled dot product attention in f64, the form that the fast ones are compared with.
//
//   score[h][i][j] = scale * sum_c q[i][h][c] k[j][g][c] + bias[i][j],   g = h / (h_q / h_kv)
//   out[i][h][c]   = sum_j softmax_j(score[h][i][:])[j] v[j][g][c],      lse[i][h] = log sum_j exp(score[h][i][j])
//
// Shapes   q, out: [n_tok_q][h_q][d]; k, v: [n_tok_k][h_kv][d] (a KV cache grows at its end); bias: [n_tok_q][n_tok_k],
//          shared by the heads and not looked at where use_bias is false; lse: [n_tok_q][h_q]
// Bits     the order of every sum is stated in row.h: the same bits for every thread count, with one C library's exp
// Error    against exact arithmetic, with S the largest scale * sum_c |q k| of the row:
//          out: sdpa_bound(n_tok_k, d, S) * max |v|,  lse: sdpa_bound(n_tok_k, d, S) + 2^-52 |lse|
// Masked   a key whose bias is -infinity is never read; a row without a visible key has out 0 (torch's rule too) and
//          lse -infinity
// NaN      of q spoils its head's row; of a visible key every row that sees it; of a value the columns where it stands,
//          unless its probability is 0. A score of +infinity makes its row NaN
// Status   360; else 361, 362, 363, 365, 376 (more than kMaxWork multiply-adds), 367 q, 368 k, 369 v, 370 bias

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "modules/attnk/sdpa/row.h"
#include "runtime/exec/context.h"

namespace krt::attnk {

struct SdpaOut {
  std::vector<double> out, lse;
  std::int64_t n_tok, n_heads, head_dim, status;
  static constexpr std::array kFields{"out", "lse", "n_tok", "n_heads", "head_dim", "status"};
};

struct SdpaScores {
  std::vector<double> values;
  std::int64_t n_heads, rows, cols, status;
  static constexpr std::array kFields{"values", "n_heads", "rows", "cols", "status"};
};

// 2^-52 (n + 8 + (d + 4) S): a score carries (d + 4) roundings of its terms, a sum over n keys n.
constexpr double sdpa_bound(double n, double d, double s) { return 0x1p-52 * (n + 8 + (d + 4) * s); }

SdpaOut sdpa_forward_flat(Context& context, std::span<const double> q, std::span<const double> k,
                          std::span<const double> v, std::span<const double> bias, std::int64_t n_tok_q,
                          std::int64_t n_tok_k, std::int64_t h_q, std::int64_t h_kv, std::int64_t d, double scale,
                          bool use_bias);
// values: [h_q][n_tok_q][n_tok_k], without a bias; at most kMaxCells of them (376).
SdpaScores sdpa_scores_flat(Context& context, std::span<const double> q, std::span<const double> k,
                            std::int64_t n_tok_q, std::int64_t n_tok_k, std::int64_t h_q, std::int64_t h_kv,
                            std::int64_t d, double scale);
// The softmax of every row of scores [rows][cols]; exactly rows * cols values (372); n_heads is 1.
SdpaScores sdpa_softmax_rows_flat(Context& context, std::span<const double> scores, std::int64_t rows,
                                  std::int64_t cols);

// What sdpa, flash and backward take: the dimensions, their checks, and where a head's rows lie.
struct Problem {
  std::int64_t n_tok_q, n_tok_k, h_q, h_kv, d;
  double scale;

  // 361, 362, 363, 365, 376, 367, 368, in that order.
  [[nodiscard]] std::int64_t check(std::span<const double> q, std::span<const double> k) const;
  // The same, then 369.
  [[nodiscard]] std::int64_t check(std::span<const double> q, std::span<const double> k,
                                   std::span<const double> v) const;
  [[nodiscard]] std::size_t queries() const { return static_cast<std::size_t>(n_tok_q); }
  [[nodiscard]] std::size_t keys() const { return static_cast<std::size_t>(n_tok_k); }
  [[nodiscard]] std::size_t heads() const { return static_cast<std::size_t>(h_q); }
  [[nodiscard]] std::size_t kv_heads() const { return static_cast<std::size_t>(h_kv); }
  [[nodiscard]] std::size_t group() const { return heads() / kv_heads(); }
  [[nodiscard]] std::size_t dim() const { return static_cast<std::size_t>(d); }
  // Rows of head `head` of q, out or dout, and of key-value head `head` of k, v, dk or dv.
  [[nodiscard]] Rows query_rows(std::span<const double> q, std::size_t head) const {
    return {q.data() + head * dim(), heads() * dim()};
  }
  [[nodiscard]] Rows key_rows(std::span<const double> k, std::size_t kv_head) const {
    return {k.data() + kv_head * dim(), kv_heads() * dim()};
  }
  // Into how many parts a call of this size is split: 1, or one a thread.
  [[nodiscard]] std::size_t parts(const Arena& arena) const;
};

}  // namespace krt::attnk
