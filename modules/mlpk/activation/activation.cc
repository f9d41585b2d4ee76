#include "modules/mlpk/activation/activation.h"

#include <cmath>

#include "modules/agreement.h"
#include "modules/mlpk/activation/functions.h"
#include "modules/mlpk/contract/contract.h"
#include "runtime/registry/module_builder.h"

namespace krt::mlpk {
namespace {

// What the tanh form is off by at most, rounded up.
constexpr double kGeluFormsDelta = 4.74e-4;

struct Forms {
  double (*act)(double);
  double (*grad)(double);
};
constexpr std::array<Forms, 3> kForms{{{silu, silu_grad}, {gelu_erf, gelu_erf_grad}, {gelu_tanh, gelu_tanh_grad}}};

template <class Body>
void for_values(Context& context, std::size_t n, const Body& body) {
  const auto parts =
      static_cast<std::size_t>(mlp_workers_for(static_cast<std::int64_t>(n), 0, context.arena.threads()));
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(n, parts, part, 8);
    for (std::size_t i = r.begin; i < r.end; ++i) body(i);
  });
}

std::int64_t check_kind(std::int64_t kind) { return mlp_activation_known(kind) ? kOk : kBadParameter; }

std::int64_t check_pair(std::span<const double> value, std::span<const double> gate, std::int64_t n_tok,
                        std::int64_t d_ff) {
  if (const std::int64_t status = mlp_dims_check(n_tok, 1, d_ff); status != kOk) return status;
  return check_lengths(kOk,
                       {{value.size(), n_tok * d_ff, kALengthMismatch}, {gate.size(), n_tok * d_ff, kBLengthMismatch}});
}

std::int64_t check_forward(std::span<const double> value, std::span<const double> gate, std::int64_t n_tok,
                           std::int64_t d_ff, std::int64_t kind) {
  const std::int64_t status = check_pair(value, gate, n_tok, d_ff);
  return status == kOk ? check_kind(kind) : status;
}

std::int64_t check_backward(std::span<const double> dy, std::span<const double> value, std::span<const double> gate,
                            std::int64_t n_tok, std::int64_t d_ff, std::int64_t kind) {
  if (const std::int64_t status = mlp_dims_check(n_tok, 1, d_ff); status != kOk) return status;
  if (std::ssize(dy) != n_tok * d_ff) return kGradLengthMismatch;
  return check_forward(value, gate, n_tok, d_ff, kind);
}

}  // namespace

double mlp_gelu_erf(double x) { return gelu_erf(x); }
double mlp_gelu_erf_grad(double x) { return gelu_erf_grad(x); }
double mlp_gelu_tanh_grad(double x) { return gelu_tanh_grad(x); }

ActOut gated_ffn_fwd_flat(Context& context, std::span<const double> value, std::span<const double> gate,
                          std::int64_t n_tok, std::int64_t d_ff, std::int64_t kind) {
  const std::int64_t status = check_forward(value, gate, n_tok, d_ff, kind);
  if (status != kOk) return {{}, 0, 0, 0, status};
  const auto act = kForms[static_cast<std::size_t>(kind)].act;
  std::vector<double> y(value.size());
  for_values(context, y.size(), [&](std::size_t i) { y[i] = value[i] * act(gate[i]); });
  return {std::move(y), n_tok, d_ff, kind, kOk};
}

ActGrad gated_ffn_bwd_flat(Context& context, std::span<const double> dy, std::span<const double> value,
                           std::span<const double> gate, std::int64_t n_tok, std::int64_t d_ff, std::int64_t kind) {
  const std::int64_t status = check_backward(dy, value, gate, n_tok, d_ff, kind);
  if (status != kOk) return {{}, {}, 0, 0, status};
  const Forms forms = kForms[static_cast<std::size_t>(kind)];
  std::vector<double> d_value(value.size()), d_gate(value.size());
  for_values(context, value.size(), [&](std::size_t i) {
    d_value[i] = dy[i] * forms.act(gate[i]);
    d_gate[i] = dy[i] * value[i] * forms.grad(gate[i]);
  });
  return {std::move(d_value), std::move(d_gate), n_tok, d_ff, kOk};
}

GeluAgreement mlp_gelu_agreement(double lo, double hi, std::int64_t samples) {
  if (const std::int64_t status = check_dims(kDimRule, {samples}); status != kOk) return {0, 0, false, 0, 0, status};
  const double width = hi - lo;
  if (samples < 2 || !(width > 0) || !std::isfinite(width)) return {0, 0, false, 0, 0, kBadParameter};
  Agreement agreement;
  double argmax = lo;
  for (std::int64_t i = 0; i < samples; ++i) {
    const double x = lo + width * (static_cast<double>(i) / static_cast<double>(samples - 1));
    if (agreement.add(gelu_tanh(x), gelu_erf(x), kGeluFormsDelta)) argmax = x;
  }
  return {agreement.max_delta, agreement.tolerance_at_max, agreement.within, argmax, agreement.compared, kOk};
}

GeluAgreement swiglu_gradcheck_flat(Context& context, std::span<const double> value, std::span<const double> gate,
                                    std::int64_t n_tok, std::int64_t d_ff, std::int64_t kind, double step) {
  std::int64_t status = check_forward(value, gate, n_tok, d_ff, kind);
  if (status == kOk && !(mlp_scalars_ok(step) && step > 0)) status = kBadParameter;
  if (status != kOk) return {0, 0, false, 0, 0, status};
  std::vector<double> dy(value.size());
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = loss_weight(i);
  const ActGrad grad = gated_ffn_bwd_flat(context, dy, value, gate, n_tok, d_ff, kind);
  const auto act = kForms[static_cast<std::size_t>(kind)].act;
  Agreement agreement;
  double argmax = gate[0];
  for (std::size_t i = 0; i < dy.size(); ++i) {
    double v = value[i], g = gate[i];
    const auto loss = [&] {  // |act| <= |g|: what its error is a share of
      return Loss{dy[i] * v * act(g), std::fabs(dy[i] * v) * (std::fabs(g) + step) * (g * g + 16) * 0x1p-53};
    };
    const Slope of_value = central_slope(v, step, loss), of_gate = central_slope(g, step, loss);
    if (agreement.add(grad.d_value[i], of_value.value, of_value.tolerance)) argmax = gate[i];
    if (agreement.add(grad.d_gate[i], of_gate.value, of_gate.tolerance)) argmax = gate[i];
  }
  return {agreement.max_delta, agreement.tolerance_at_max, agreement.within, argmax, agreement.compared, kOk};
}

void register_activation(Registry& registry) {
  constexpr Capabilities kUsesLibm{.determinism = Determinism::kBitExactPerVariant};
  ModuleBuilder m(registry, "mlpk.activation", "Gated activations of a feed-forward layer in f64, and their checks");
  m.function<gated_ffn_bwd_flat>("gated_ffn_bwd_flat", "The gradient of a gated activation",
                                 {{"dy", "gradient of the output, exactly n_tok * d_ff values"},
                                  {"value", "what is gated, exactly n_tok * d_ff values"},
                                  {"gate", "the gate's input, exactly n_tok * d_ff values"},
                                  {"n_tok", "how many tokens, 1 to 2^24"},
                                  {"d_ff", "values of a token, 1 to 2^24"},
                                  {"kind", "0 SwiGLU, 1 GeGLU (erf), 2 GeGLU (tanh)"}})
      .statuses(kStatuses)
      .caps(kUsesLibm)
      .example("[[1,1],[1,2],[0.5,-0.5],1,2,0]");
  m.function<gated_ffn_fwd_flat>("gated_ffn_fwd_flat", "value * act(gate), one value at a time",
                                 {{"value", "what is gated, exactly n_tok * d_ff values"},
                                  {"gate", "the gate's input, exactly n_tok * d_ff values"},
                                  {"n_tok", "how many tokens, 1 to 2^24"},
                                  {"d_ff", "values of a token, 1 to 2^24"},
                                  {"kind", "0 SwiGLU, 1 GeGLU (erf), 2 GeGLU (tanh)"}})
      .statuses(kStatuses)
      .caps(kUsesLibm)
      .example("[[1,2],[0.5,-0.5],1,2,0]");
  m.function<mlp_gelu_agreement>(
       "mlp_gelu_agreement", "How far the two forms of gelu are apart on an interval",
       {{"lo", "first point"}, {"hi", "last point, above lo"}, {"samples", "points, 2 to 2^24"}})
      .statuses(kStatuses)
      .caps(kUsesLibm)
      .example("[-6.0,6.0,1001]");
  m.function<mlp_gelu_erf>("mlp_gelu_erf", "The exact gelu, x/2 erfc(-x / sqrt 2)", {{"x", "any number"}})
      .caps(kUsesLibm)
      .example("[1.0]");
  m.function<mlp_gelu_erf_grad>("mlp_gelu_erf_grad", "The derivative of the exact gelu", {{"x", "any number"}})
      .caps(kUsesLibm)
      .example("[1.0]");
  m.function<mlp_gelu_tanh_grad>("mlp_gelu_tanh_grad", "The derivative of gelu's tanh form", {{"x", "any number"}})
      .caps(kUsesLibm)
      .example("[1.0]");
  m.function<swiglu_gradcheck_flat>("swiglu_gradcheck_flat", "The gradient against central differences of a loss",
                                    {{"value", "what is gated, exactly n_tok * d_ff values"},
                                     {"gate", "the gate's input, exactly n_tok * d_ff values"},
                                     {"n_tok", "how many tokens, 1 to 2^24"},
                                     {"d_ff", "values of a token, 1 to 2^24"},
                                     {"kind", "0 SwiGLU, 1 GeGLU (erf), 2 GeGLU (tanh)"},
                                     {"step", "of the differences, above 0, such as 1e-4"}})
      .statuses(kStatuses)
      .caps(kUsesLibm)
      .example("[[1,2],[0.5,-0.5],1,2,0,1e-4]");
}

}  // namespace krt::mlpk
