#pragma once
// decode.attention: causal attention of new query rows over a KV cache, and the cache's growth. One query row is a
// decode step, many are prefill. With the query head h, its KV head g = h / (q_heads / kv_heads), and query row r at
// the position p = pos + r:
//
//   score[j] = cap(scale * sum_c q[r][h][c] k[g][j][c]),   p - window < j <= p   (window 0: 0 <= j <= p)
//   out[r][h][c] = sum_j softmax(score)[j] v[g][j][c],     cap(s) = softcap * tanh(s / softcap)  (softcap 0: s)
//
// Source: Vaswani et al., "Attention is all you need" (2017); grouped heads: Ainslie et al. (2023); online softmax:
// Milakov and Gimelshein (2018), Dao et al. (2022); the soft cap: Gemma 2 (2024).
//
// Shapes    q, out: [rows][q_heads][head_dim]; the cache: kv_cache.h; any head_dim, any ratio of heads
// Types     f32; queries, keys and values of half types are converted at the edge; caches f32, f16, bf16, q8_0
// Order     keys are taken in blocks of kKeyBlock absolute positions. A block's softmax is computed for itself, and
//           blocks are folded in order of their position, whatever the query rows and threads of a call
// Bits      for one variant the same for every thread count, for prefill in chunks of any size, for one sequence alone
//           or among others; the variants differ within the bound
// Error     against exact arithmetic on the values in the cache, in units of u = 2^-24: attention_bound() * max |v|,
//           where S is the largest scale * sum_c |q k| of the row. The variant "scalar" is in f64, rounded once
// Masked    a key outside the window is never read: not for its value, and not past the rows that were written
// NaN       of q spoils its head's row; of a visible key every row that sees it; of a visible value the columns where
//           it stands. A score of +infinity makes its row NaN; a row whose scores are all -infinity is 0
// Status    of the function: 600; else 601 (an empty list, kv_heads or head_dim < 1), 602 (kv_heads, head_dim), 604 (k
//           or q is no whole number of rows), 605 (v unlike k, or a norm's weight unlike a head), 607 (a cache is no
//           whole number of rows, or v_cache unlike k_cache), 608 (head_dim odd with rope), 609 (q_heads no multiple of
//           kv_heads), 610 (a position negative, or its new rows beyond the capacity), 611 (a cache overlaps another
//           argument), 612 (another argument out of its range); then nothing is changed

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "modules/decode/attention/kv_cache.h"
#include "runtime/registry/floats.h"

namespace krt::decode {

inline constexpr std::size_t kKeyBlock = 256;

struct AttentionOptions {
  double scale = 0;        // 0: 1 / sqrt(head_dim)
  std::size_t window = 0;  // keys a query sees, itself among them; 0: all
  double softcap = 0;      // 0: none
};

// In units of 2^-24 * max |v|, for a row that sees n keys, scores that fit an f32. A score carries d / 4 + 7 roundings
// of its terms (four lanes or more) and the cap 6 of its own; an exponential the roundings of its argument and 2; a
// block as many sums as it has keys, a fold 6. All of it twice, for the weighted sum and for the sum of weights.
constexpr double attention_bound(double n, double d, double s, double softcap = 0) {
  const double block = n < kKeyBlock ? n : kKeyBlock;
  return 2 * (block + 6 * (n / kKeyBlock) + (d / 4 + 12) * s + 6 * softcap + 16);
}

// New query rows of one sequence: q and out are [rows][q_heads][head_dim], row r at position pos + r. The cache holds
// the keys of every position below pos + rows. out overlaps nothing else.
struct AttentionQuery {
  KvCache cache;
  std::size_t pos = 0, rows = 0;
  const float* q = nullptr;
  float* out = nullptr;
};

// Memory that calls reuse: with the same one a call of no larger shape allocates nothing. One call at a time.
class AttentionWorkspace {
 public:
  // At least `bytes`, aligned to a cache line; what was in it may be lost.
  std::byte* reserve(std::size_t bytes);
  struct Item {  // query rows of one sequence that share a KV head
    std::size_t query, kv_head, first_row, rows, first_block, blocks, first_unit;
  };
  std::vector<Item> items;

 private:
  std::vector<std::byte> memory_;
};

// Attention of several sequences, each with its own cache, position and number of rows; q_heads is a multiple of every
// cache's kv_heads. The caller has made the checks. `context.variant` names the form that served.
void attention_rows(Context& context, std::span<const AttentionQuery> queries, std::size_t q_heads,
                    const AttentionOptions& options, AttentionWorkspace& workspace);

struct AttentionResult {
  std::vector<float> out;
  std::int64_t status;
  static constexpr std::array kFields{"out", "status"};
};
// Appends the rows of k and v to the caches, then attends. pos: one a sequence, its cached length; a sequence has
// rows / len(pos) of the rows, and caches lie one after another. q_norm and k_norm are the weights of a
// root-mean-square norm of each head, rope_theta (0: none) the base of a half-split rotation after it.
AttentionResult attention(Context& context, const Floats& q, const Floats& k, const Floats& v,
                          std::span<std::uint8_t> k_cache, std::span<std::uint8_t> v_cache,
                          std::span<const std::int64_t> pos, std::int64_t kv_heads, std::int64_t head_dim,
                          std::string_view format, double scale, std::int64_t window, double softcap,
                          std::optional<std::span<const float>> q_norm, std::optional<std::span<const float>> k_norm,
                          double eps, double rope_theta);

}  // namespace krt::decode
