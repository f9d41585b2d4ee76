#include "modules/mlpk/gated_ffn/gated_ffn.h"

#include "modules/gemm/blocked/sgemm.h"
#include "modules/gemm/contract/contract.h"
#include "modules/mlpk/activation/functions.h"
#include "modules/mlpk/contract/contract.h"
#include "runtime/registry/module_builder.h"

namespace krt::mlpk {
namespace {

std::size_t workers(Context& context, std::size_t n, std::int64_t requested) {
  return static_cast<std::size_t>(mlp_workers_for(static_cast<std::int64_t>(n), requested, context.arena.threads()));
}

template <double (*act)(double)>
void apply_gate(Context& context, std::span<const double> gate, std::span<const double> up, std::size_t parts,
                std::span<double> out) {
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(out.size(), parts, part, 8);
    for (std::size_t i = r.begin; i < r.end; ++i) out[i] = act(gate[i]) * up[i];
  });
}

template <double (*act)(double)>
GateResult run_gate(Context& context, std::span<const double> gate, std::span<const double> up, std::int64_t n,
                    std::int64_t requested) {
  const std::int64_t status = mlp_pair_ok(n, gate, up);
  if (status != kOk) return {{}, 0, 0, 0, 0, status};
  std::vector<double> out(gate.size());
  const std::size_t parts = workers(context, out.size(), requested);
  apply_gate<act>(context, gate, up, parts, out);
  return {std::move(out),      n,  static_cast<std::int64_t>(parts), parts > 1 ? kParallel : kSerial,
          gate_bytes_moved(n), kOk};
}

}  // namespace

double gate_bytes_moved(std::int64_t n) { return n < 1 ? 0.0 : 24.0 * static_cast<double>(n); }

GateResult swiglu_gate(Context& context, std::span<const double> gate, std::span<const double> up, std::int64_t n,
                       std::int64_t requested_workers) {
  return run_gate<silu>(context, gate, up, n, requested_workers);
}
GateResult geglu_erf_gate(Context& context, std::span<const double> gate, std::span<const double> up, std::int64_t n,
                          std::int64_t requested_workers) {
  return run_gate<gelu_erf>(context, gate, up, n, requested_workers);
}
GateResult geglu_tanh_gate(Context& context, std::span<const double> gate, std::span<const double> up, std::int64_t n,
                           std::int64_t requested_workers) {
  return run_gate<gelu_tanh>(context, gate, up, n, requested_workers);
}
GateResult geglu_tanh_fast_gate(Context& context, std::span<const double> gate, std::span<const double> up,
                                std::int64_t n, std::int64_t requested_workers) {
  return run_gate<gelu_tanh_fast>(context, gate, up, n, requested_workers);
}

BlockResult swiglu_ffn_block(Context& context, std::span<const double> x, std::span<const double> wg,
                             std::span<const double> wu, std::span<const double> wd, std::int64_t tokens,
                             std::int64_t d_model, std::int64_t d_ff) {
  std::int64_t status = mlp_block_dims_ok(tokens, d_model, d_ff, x, wg, wu, wd);
  if (status == kOk && !gemm::gemm_work_fits(tokens, d_model, d_ff, gemm::kMaxFlops)) status = kDimensionTooLarge;
  if (status != kOk) return {{}, 0, 0, 0, 0, 0, status};
  const auto product = [&](std::span<const double> a, std::span<const double> b, std::int64_t n, std::int64_t k) {
    return gemm::sgemm_flat(context, a, b, tokens, n, k, 1, 0, false, false).c;
  };
  std::vector<double> hidden = product(x, wg, d_ff, d_model);
  const std::vector<double> up = product(x, wu, d_ff, d_model);
  const std::size_t parts = workers(context, hidden.size(), 0);
  apply_gate<silu>(context, hidden, up, parts, hidden);
  const double flops = 6.0 * static_cast<double>(tokens) * static_cast<double>(d_model) * static_cast<double>(d_ff);
  return {product(hidden, wd, d_model, d_ff), tokens, d_model, static_cast<std::int64_t>(parts), flops,
          gate_bytes_moved(tokens * d_ff),    kOk};
}

constexpr Arg kGateArgs[] = {{"gate", "the gate's input, exactly n values"},
                             {"up", "what is gated, exactly n values"},
                             {"n", "how many values, 1 to 2^24"},
                             {"requested_workers", "below 1 for as many as there are"}};

void register_gated_ffn(Registry& registry) {
  constexpr Capabilities kUsesLibm{.determinism = Determinism::kBitExactPerVariant};
  ModuleBuilder m(registry, "mlpk.gated_ffn", "The gate of a feed-forward layer, and the whole layer");
  m.function<gate_bytes_moved>("gate_bytes_moved", "Bytes that a gate reads and writes, 24 n",
                               {{"n", "how many values; 0 bytes below 1"}})
      .example("[1024]");
  m.function<geglu_erf_gate>("geglu_erf_gate", "gelu(gate) * up with the exact gelu", kGateArgs)
      .statuses(kStatuses)
      .caps(kUsesLibm)
      .example("[[0.5,-0.5],[1,2],2,1]");
  m.function<geglu_tanh_fast_gate>("geglu_tanh_fast_gate", "gelu(gate) * up, the tanh form through one exponential",
                                   kGateArgs)
      .statuses(kStatuses)
      .caps(kUsesLibm)
      .example("[[0.5,-0.5],[1,2],2,1]");
  m.function<geglu_tanh_gate>("geglu_tanh_gate", "gelu(gate) * up with gelu's tanh form", kGateArgs)
      .statuses(kStatuses)
      .caps(kUsesLibm)
      .example("[[0.5,-0.5],[1,2],2,1]");
  m.function<swiglu_ffn_block>("swiglu_ffn_block", "A whole SwiGLU layer, (silu(x wg) * (x wu)) wd",
                               {{"x", "the tokens, exactly tokens * d_model values"},
                                {"wg", "gate weights, exactly d_model * d_ff values"},
                                {"wu", "up weights, exactly d_model * d_ff values"},
                                {"wd", "down weights, exactly d_ff * d_model values"},
                                {"tokens", "rows of x, 1 to 2^24"},
                                {"d_model", "width of x, 1 to 2^24"},
                                {"d_ff", "width between the products, 1 to 2^24"}})
      .statuses(kStatuses)
      .caps(kUsesLibm)
      .example("[[1,2],[1,1],[0.5,1],[1,-1],1,2,1]");
  m.function<swiglu_gate>("swiglu_gate", "silu(gate) * up", kGateArgs)
      .statuses(kStatuses)
      .caps(kUsesLibm)
      .example("[[0.5,-0.5],[1,2],2,1]");
}

}  // namespace krt::mlpk
