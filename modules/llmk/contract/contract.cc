#include "modules/llmk/contract/contract.h"

#include "modules/checks.h"
#include "runtime/registry/module_builder.h"

namespace krt::llmk {
namespace {

constexpr DimRule kDimRule{kOk, kEmptyDimension, kDimensionTooLarge, kMaxDim};

}  // namespace

std::int64_t llmk_residual_dims_check(std::int64_t n, std::int64_t len_a, std::int64_t len_b) {
  if (const std::int64_t status = check_dims(kDimRule, {n}); status != kOk) return status;
  if (len_a != n) return kALengthMismatch;
  return len_b != n ? kBLengthMismatch : kOk;
}

std::int64_t llmk_kv_append_dims_check(std::int64_t cache_len, std::int64_t len_cache, std::int64_t n_new,
                                       std::int64_t len_new) {
  if (cache_len < 0 || n_new < 1) return kEmptyDimension;  // an empty cache is prefill's own and allowed
  if (cache_len > kMaxDim || n_new > kMaxDim) return kDimensionTooLarge;
  if (len_cache != cache_len) return kCacheLengthMismatch;
  return len_new != n_new ? kNewLengthMismatch : kOk;
}

std::int64_t llmk_argmax_dims_check(std::int64_t n, std::int64_t len_logits) {
  if (const std::int64_t status = check_dims(kDimRule, {n}); status != kOk) return status;
  return len_logits != n ? kLogitsLengthMismatch : kOk;
}

std::int64_t llmk_gemv_dims_check(std::int64_t m, std::int64_t n, std::int64_t len_a, std::int64_t len_x) {
  if (const std::int64_t status = check_dims(kDimRule, {m, n}); status != kOk) return status;
  if (len_a != m * n) return kGemvALengthMismatch;  // at most 2^48
  return len_x != m ? kGemvXLengthMismatch : kOk;
}

std::string_view llmk_status_name(std::int64_t code) { return status_name(kStatuses, code, "llmk_code_out_of_range"); }

void register_contract(Registry& registry) {
  ModuleBuilder m(registry, "llmk.contract", "Status vocabulary 560-579 and the dimension checks of the llmk family");
  m.function<llmk_residual_dims_check>(
       "llmk_residual_dims_check", "The checks of residual_add_flat, as a status",
       {{"n", "claimed length of both operands"}, {"len_a", "real length of a"}, {"len_b", "real length of b"}})
      .example("[6,6,6]");
  m.function<llmk_kv_append_dims_check>("llmk_kv_append_dims_check", "The checks of kv_cache_append_flat, as a status",
                                        {{"cache_len", "claimed length of the cache, 0 or more"},
                                         {"len_cache", "real length of the cache"},
                                         {"n_new", "claimed length of the new values, 1 or more"},
                                         {"len_new", "real length of the new values"}})
      .example("[6,6,3,3]");
  m.function<llmk_argmax_dims_check>(
       "llmk_argmax_dims_check", "The checks of greedy_argmax_flat, as a status",
       {{"n", "claimed length of the logits"}, {"len_logits", "real length of the logits"}})
      .example("[3,3]");
  m.function<llmk_gemv_dims_check>("llmk_gemv_dims_check", "The checks of gemv_transposed_parallel_flat, as a status",
                                   {{"m", "claimed rows of a"},
                                    {"n", "claimed columns of a"},
                                    {"len_a", "real length of a"},
                                    {"len_x", "real length of x"}})
      .example("[2,3,6,2]");
  m.function<llmk_status_name>("llmk_status_name", "The name of a status code of this family",
                               {{"code", "a status; any other number is llmk_code_out_of_range"}})
      .example("[562]");
}

}  // namespace krt::llmk
