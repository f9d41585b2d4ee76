#pragma once
// mlpk.gated_ffn: the gate of a feed-forward layer with a chosen number of workers, and the whole layer, in f64.
//
//   gates              out = act(gate) * up             act by name; mlpk/activation/functions.h has the formulas,
//   their
//                                                       error bounds and what infinities do
//   swiglu_ffn_block   out = (silu(x wg) * (x wu)) wd   products as gemm.blocked.sgemm_flat computes them
//
// Shapes   gate, up, out: f64[n], exactly n values, 1 <= n <= 2^24
//          x, out: f64[tokens, d_model]; wg, wu: f64[d_model, d_ff]; wd: f64[d_ff, d_model], row-major, exact lengths;
//          tokens * d_ff and tokens * d_model at most 2^28; 2 tokens d_model d_ff within gemm's 2^41 flops
// Bits     the same for every number of workers; those of the C library's exp, tanh and erfc
// Error    gates: that of the activation plus one rounding. Block: with h the exact hidden values and u = 2^-53,
//          |out - exact| <= sum_f (d_ff + 2) u |h wd| + what moves h: 2 (d_model + 10) u times the sums of magnitudes
// Threads  requested_workers < 1 asks for all; never more than the arena has, nor than mlp_workers_for allows
// Result   bytes_moved: two lists read, one written, 24 n; gate_bytes the same for the block's hidden values;
//          flop_count 6 tokens d_model d_ff
// Status   390; else 391, 394, 392 (gate, x), 393 (up), 396 (wg, wu, wd) with lists empty and numbers 0

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::mlpk {

struct GateResult {
  std::vector<double> out;
  std::int64_t n;
  std::int64_t workers_used;
  std::int64_t backend_used;
  double bytes_moved;
  std::int64_t status;
  static constexpr std::array kFields{"out", "n", "workers_used", "backend_used", "bytes_moved", "status"};
};
GateResult swiglu_gate(Context& context, std::span<const double> gate, std::span<const double> up, std::int64_t n,
                       std::int64_t requested_workers);
GateResult geglu_erf_gate(Context& context, std::span<const double> gate, std::span<const double> up, std::int64_t n,
                          std::int64_t requested_workers);
GateResult geglu_tanh_gate(Context& context, std::span<const double> gate, std::span<const double> up, std::int64_t n,
                           std::int64_t requested_workers);
// The tanh form through one exponential: relatively exact in the left tail, and faster.
GateResult geglu_tanh_fast_gate(Context& context, std::span<const double> gate, std::span<const double> up,
                                std::int64_t n, std::int64_t requested_workers);

struct BlockResult {
  std::vector<double> out;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t gate_workers;
  double flop_count;
  double gate_bytes;
  std::int64_t status;
  static constexpr std::array kFields{"out", "rows", "cols", "gate_workers", "flop_count", "gate_bytes", "status"};
};
BlockResult swiglu_ffn_block(Context& context, std::span<const double> x, std::span<const double> wg,
                             std::span<const double> wu, std::span<const double> wd, std::int64_t tokens,
                             std::int64_t d_model, std::int64_t d_ff);

// 24 n; 0 where n < 1.
double gate_bytes_moved(std::int64_t n);

}  // namespace krt::mlpk
