#include "modules/mlpk/contract/contract.h"

#include <algorithm>
#include <cmath>

#include "runtime/registry/module_builder.h"

namespace krt::mlpk {

bool mlp_activation_known(std::int64_t kind) { return kind >= kSwiglu && kind <= kGegluTanh; }

std::string_view mlp_backend_name(std::int64_t code) {
  switch (code) {
    case kSerial: return "serial";
    case kParallel: return "parallel";
    default: return "unknown";
  }
}

std::string_view mlp_status_name(std::int64_t code) { return status_name(kStatuses, code, "mlpk_code_out_of_range"); }

std::int64_t mlp_dims_check(std::int64_t n_tok, std::int64_t d_model, std::int64_t d_ff) {
  const std::int64_t status = check_dims(kDimRule, {n_tok, d_model, d_ff});
  // Products of two allowed dimensions are at most 2^48.
  return status == kOk && (n_tok * d_ff > kMaxCells || n_tok * d_model > kMaxCells) ? kDimensionTooLarge : status;
}

std::int64_t mlp_vocab_check(std::int64_t n_tok, std::int64_t vocab, std::int64_t d_model) {
  const std::int64_t status = check_dims(kDimRule, {n_tok, vocab, d_model});
  return status == kOk && (n_tok * d_model > kMaxCells || vocab * d_model > kMaxCells) ? kDimensionTooLarge : status;
}

std::int64_t mlp_pair_ok(std::int64_t n, std::span<const double> a, std::span<const double> b) {
  if (const std::int64_t status = check_dims(kDimRule, {n}); status != kOk) return status;
  return check_lengths(kOk, {{a.size(), n, kALengthMismatch}, {b.size(), n, kBLengthMismatch}});
}

std::int64_t mlp_block_dims_ok(std::int64_t tokens, std::int64_t d_model, std::int64_t d_ff, std::span<const double> x,
                               std::span<const double> wg, std::span<const double> wu, std::span<const double> wd) {
  if (const std::int64_t status = mlp_dims_check(tokens, d_model, d_ff); status != kOk) return status;
  return check_lengths(kOk, {{x.size(), tokens * d_model, kALengthMismatch},
                             {wg.size(), d_model * d_ff, kWeightLengthMismatch},
                             {wu.size(), d_model * d_ff, kWeightLengthMismatch},
                             {wd.size(), d_ff * d_model, kWeightLengthMismatch}});
}

bool mlp_scalars_ok(double value) { return std::isfinite(value); }

double mlp_tol_for(double magnitude, std::int64_t reduction_width) {
  return reduction_width < 1 ? 0.0 : (static_cast<double>(reduction_width) + 2) * 0x1p-53 * std::fabs(magnitude);
}

bool mlp_work_fits(std::int64_t n_tok, std::int64_t d_model, std::int64_t d_ff, std::int64_t ceiling) {
  // Nested floors: the same answer as 6 n d f <= ceiling, which would need 75 bits.
  return check_dims(kDimRule, {n_tok, d_model, d_ff}) == kOk && ceiling > 0 && n_tok <= ceiling / 6 / d_model / d_ff;
}

std::int64_t mlp_workers_for(std::int64_t n, std::int64_t requested, std::int64_t physical_cores) {
  const std::int64_t cores = std::max<std::int64_t>(physical_cores, 1);
  const std::int64_t wanted = requested < 1 ? cores : std::min(requested, cores);
  return std::clamp<std::int64_t>(n / kParallelMinCells, 1, wanted);
}

void register_contract(Registry& registry) {
  ModuleBuilder m(registry, "mlpk.contract",
                  "Status vocabulary 390-399, activations and the checks of the mlpk family");
  m.function<mlp_activation_known>("mlp_activation_known", "Whether there is an activation of that kind",
                                   {{"kind", "0 SwiGLU, 1 GeGLU (erf), 2 GeGLU (tanh)"}})
      .example("[0]");
  m.function<mlp_backend_name>("mlp_backend_name", "The name of a result's backend_used",
                               {{"code", "0 serial, 1 parallel; any other number is unknown"}})
      .example("[0]");
  m.function<mlp_block_dims_ok>("mlp_block_dims_ok", "The checks of a whole gated block, as a status",
                                {{"tokens", "rows of x"},
                                 {"d_model", "width of x"},
                                 {"d_ff", "width between the products"},
                                 {"x", "tokens * d_model values"},
                                 {"wg", "gate weights, d_model * d_ff values"},
                                 {"wu", "up weights, d_model * d_ff values"},
                                 {"wd", "down weights, d_ff * d_model values"}})
      .example("[1,2,1,[1,2],[1,1],[1,1],[1,1]]");
  m.function<mlp_dims_check>(
       "mlp_dims_check", "The checks of the dimensions of a feed-forward layer, as a status",
       {{"n_tok", "how many tokens"}, {"d_model", "width of a token"}, {"d_ff", "width between the products"}})
      .example("[2,4,8]");
  m.function<mlp_pair_ok>("mlp_pair_ok", "The checks of two lists of one length, as a status",
                          {{"n", "claimed length of both"}, {"a", "n values"}, {"b", "n values"}})
      .example("[2,[1,2],[3,4]]");
  m.function<mlp_scalars_ok>("mlp_scalars_ok", "Whether a number is finite", {{"value", "any number"}})
      .example("[1.0]");
  m.function<mlp_status_name>("mlp_status_name", "The name of a status code of this family",
                              {{"code", "a status; any other number is mlpk_code_out_of_range"}})
      .example("[392]");
  m.function<mlp_tol_for>("mlp_tol_for", "How far rounding may move a sum of products",
                          {{"magnitude", "sum of the products' magnitudes"}, {"reduction_width", "how many products"}})
      .example("[1.0,1024]");
  m.function<mlp_vocab_check>(
       "mlp_vocab_check", "The checks of the dimensions of an embedding, as a status",
       {{"n_tok", "how many ids"}, {"vocab", "rows of the embedding"}, {"d_model", "width of a row"}})
      .example("[2,10,4]");
  m.function<mlp_work_fits>("mlp_work_fits", "Whether a gated block costs no more than a number of flops",
                            {{"n_tok", "how many tokens"},
                             {"d_model", "width of a token"},
                             {"d_ff", "width between the products"},
                             {"ceiling", "the most flops, 6 n_tok d_model d_ff, that fit"}})
      .example("[2,4,8,384]");
  m.function<mlp_workers_for>("mlp_workers_for", "How many workers share a number of values",
                              {{"n", "how many values"},
                               {"requested", "workers wanted; below 1 for as many as there are cores"},
                               {"physical_cores", "the most there can be"}})
      .example("[100000,4,16]");
}

}  // namespace krt::mlpk
