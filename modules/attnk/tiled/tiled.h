#pragma once
// attnk.tiled: batched attention by three forms of the softmax, to compare their results, work and memory, in f64.
//
//   direct    one head's score matrix whole, softmax with the row's maximum subtracted
//   tiled     br x bc tiles and an online softmax: the score matrix is never whole
//   unstable  direct without subtracting the maximum: what overflows once a logit passes 709.78, max_abs_logit says why
//
// Shapes    q, out: [batch][h_q][s_q][d]; k, v: [batch][h_kv][s_kv][d] (heads before tokens, unlike attnk.sdpa)
// Causal    query i sees the keys j <= i + s_kv - s_q: the last query sees every key. A row that sees none is 0
// Bits      the order of sums is attnk/sdpa/row.h's: the same for every number of workers; tiled depends on bc
// Error     direct: attnk.sdpa's. tiled: within (2 s_kv + 16) 2^-52 max |v| of direct
// NaN, inf  as attnk.sdpa. unstable: a row whose exponentials overflow, or all vanish, is NaN where values meet them
// Workers   heads (direct, unstable) or row tiles (tiled) are dealt to n_workers = min(workers, their count) parts
// Status    360; else 361 (also br, bc, workers), 362, 363, 365, 376 (kMaxWork, or score matrices of all workers that
//           exceed kMaxCells), 367 q, 368 k, 369 v

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::attnk {

struct AttnResult {
  std::vector<double> out;
  std::int64_t rows, d;       // rows = batch * h_q * s_q
  std::int64_t backend_used;  // attn_backend_name
  double flop_count;
  double working_set_bytes;  // of all workers: attn_ws_bytes_direct or _tiled each
  std::int64_t n_workers;
  double max_abs_logit;  // over the visible pairs, before the softmax; NaN where one is
  std::int64_t status;
  static constexpr std::array kFields{
      "out", "rows", "d", "backend_used", "flop_count", "working_set_bytes", "n_workers", "max_abs_logit", "status"};
};

struct AttnDelta {
  double max_abs_delta;
  double max_rel_delta;  // of the values that are not 0
  double tolerance_at_max;
  bool within_tolerance;
  std::int64_t n_compared, status;
  static constexpr std::array kFields{"max_abs_delta",    "max_rel_delta", "tolerance_at_max",
                                      "within_tolerance", "n_compared",    "status"};
};

AttnResult attn_forward_direct(Context& context, std::span<const double> q, std::span<const double> k,
                               std::span<const double> v, std::int64_t batch, std::int64_t h_q, std::int64_t h_kv,
                               std::int64_t s_q, std::int64_t s_kv, std::int64_t d, double scale, bool causal,
                               std::int64_t workers);
AttnResult attn_forward_tiled(Context& context, std::span<const double> q, std::span<const double> k,
                              std::span<const double> v, std::int64_t batch, std::int64_t h_q, std::int64_t h_kv,
                              std::int64_t s_q, std::int64_t s_kv, std::int64_t d, double scale, bool causal,
                              std::int64_t br, std::int64_t bc, std::int64_t workers);
AttnResult attn_forward_unstable(Context& context, std::span<const double> q, std::span<const double> k,
                                 std::span<const double> v, std::int64_t batch, std::int64_t h_q, std::int64_t h_kv,
                                 std::int64_t s_q, std::int64_t s_kv, std::int64_t d, double scale, bool causal,
                                 std::int64_t workers);
// tiled (16 x 32 tiles) against direct.
AttnDelta attn_reference_delta(Context& context, std::span<const double> q, std::span<const double> k,
                               std::span<const double> v, std::int64_t batch, std::int64_t h_q, std::int64_t h_kv,
                               std::int64_t s_q, std::int64_t s_kv, std::int64_t d, double scale, bool causal);
// 4 flops (a multiply and an add in each product) a visible query-key pair, head and value; 0 for a dimension < 1.
double attn_flop_count(std::int64_t batch, std::int64_t h_q, std::int64_t s_q, std::int64_t s_kv, std::int64_t d,
                       bool causal);

}  // namespace krt::attnk
