#pragma once
// mlpk.activation: the gated activations of a feed-forward layer in f64, their gradient, and two checks of them.
//
//   y = value * act(gate)     d_value = dy * act(gate)     d_gate = dy * value * act'(gate)
//
// Kinds    0 SwiGLU (silu), 1 GeGLU with the exact gelu (erf), 2 GeGLU with the tanh form; functions.h has the
// formulas,
//          their error bounds and what infinities do
// Shapes   value, gate, dy, y and the gradients: f64[n_tok, d_ff] row-major, exact lengths; n_tok * d_ff <= 2^28
// Bits     one value at a time: the same for every thread count; those of the C library's exp, tanh and erfc
// Error    that of the activation plus one (d_gate: two) roundings of the result
// Threads  from kParallelMinCells values on
// Status   390; else 391, 394, 397 (dy), 392 (value), 393 (gate), 399 (kind, step, interval) with lists empty and
//          numbers 0
// Source   Shazeer, arXiv:2002.05202; Hendrycks and Gimpel, arXiv:1606.08415

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::mlpk {

struct ActOut {
  std::vector<double> y;
  std::int64_t n_tok;
  std::int64_t d_ff;
  std::int64_t activation;  // the kind
  std::int64_t status;
  static constexpr std::array kFields{"y", "n_tok", "d_ff", "activation", "status"};
};
ActOut gated_ffn_fwd_flat(Context& context, std::span<const double> value, std::span<const double> gate,
                          std::int64_t n_tok, std::int64_t d_ff, std::int64_t kind);

struct ActGrad {
  std::vector<double> d_value;
  std::vector<double> d_gate;
  std::int64_t n_tok;
  std::int64_t d_ff;
  std::int64_t status;
  static constexpr std::array kFields{"d_value", "d_gate", "n_tok", "d_ff", "status"};
};
ActGrad gated_ffn_bwd_flat(Context& context, std::span<const double> dy, std::span<const double> value,
                           std::span<const double> gate, std::int64_t n_tok, std::int64_t d_ff, std::int64_t kind);

struct GeluAgreement {
  double max_abs_delta;
  double tolerance_at_max;
  bool within_tolerance;
  double argmax_input;  // the gelu's, or the gate, at max_abs_delta
  std::int64_t n_compared;
  std::int64_t status;
  static constexpr std::array kFields{"max_abs_delta", "tolerance_at_max", "within_tolerance",
                                      "argmax_input",  "n_compared",       "status"};
};
// The two forms of gelu on `samples` (2 to 2^24) evenly spaced points of [lo, hi]: they differ by up to 4.7324e-4, at
// |x| = 2.69894; the tolerance is 4.74e-4.
GeluAgreement mlp_gelu_agreement(double lo, double hi, std::int64_t samples);
// gated_ffn_bwd_flat against the slopes of a loss with fixed weights (modules/agreement.h), for every value and gate.
GeluAgreement swiglu_gradcheck_flat(Context& context, std::span<const double> value, std::span<const double> gate,
                                    std::int64_t n_tok, std::int64_t d_ff, std::int64_t kind, double step);

double mlp_gelu_erf(double x);
double mlp_gelu_erf_grad(double x);
double mlp_gelu_tanh_grad(double x);

}  // namespace krt::mlpk
