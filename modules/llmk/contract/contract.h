#pragma once
// llmk.contract: the status vocabulary of the llmk family (560 to 571) and the dimension checks that every llmk
// function runs before it reads an element. Source: Algenta, "LLM inference kernels" (llmk).
//
// Order of the checks: a dimension < 1 (561), then a dimension > kMaxDim (564), then the lengths in argument order.

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/registry/declaration.h"

namespace krt::llmk {

// Refuses a caller who passes a byte count or an unbounded length where an element count belongs.
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 24;

enum LlmkStatus : std::int64_t {
  kOk = 560,
  kEmptyDimension = 561,
  kALengthMismatch = 562,
  kBLengthMismatch = 563,
  kDimensionTooLarge = 564,
  kCodeOutOfRange = 565,
  kCacheLengthMismatch = 566,
  kNewLengthMismatch = 567,
  kLogitsLengthMismatch = 568,
  kGemvALengthMismatch = 569,
  kGemvXLengthMismatch = 570,
  kCacheCapacityExceeded = 571,
};

inline constexpr std::array<StatusEntry, 12> kStatuses{{
    {kOk, "llmk_ok", "the kernel ran and every element of the output is defined"},
    {kEmptyDimension, "llmk_empty_dimension", "a required dimension was < 1"},
    {kALengthMismatch, "llmk_a_length_mismatch", "residual_add_flat: len(a) != n"},
    {kBLengthMismatch, "llmk_b_length_mismatch", "residual_add_flat: len(b) != n"},
    {kDimensionTooLarge, "llmk_dimension_too_large", "a dimension exceeds LLMK_MAX_DIM (1 << 24)"},
    {kCodeOutOfRange, "llmk_code_out_of_range", "not one of these codes"},
    {kCacheLengthMismatch, "llmk_cache_length_mismatch", "kv_cache_append_flat: len(cache) != cache_len"},
    {kNewLengthMismatch, "llmk_new_length_mismatch", "kv_cache_append_flat: len(new_vals) != n_new"},
    {kLogitsLengthMismatch, "llmk_logits_length_mismatch", "greedy_argmax_flat: len(logits) != n"},
    {kGemvALengthMismatch, "llmk_gemv_a_length_mismatch", "gemv_transposed_parallel_flat: len(a) != m * n"},
    {kGemvXLengthMismatch, "llmk_gemv_x_length_mismatch", "gemv_transposed_parallel_flat: len(x) != m"},
    {kCacheCapacityExceeded, "llmk_cache_capacity_exceeded", "internal: an append would overrun its reserved buffer"},
}};

// Each answers kOk or the first check that failed.
std::int64_t llmk_residual_dims_check(std::int64_t n, std::int64_t len_a, std::int64_t len_b);
std::int64_t llmk_kv_append_dims_check(std::int64_t cache_len, std::int64_t len_cache, std::int64_t n_new,
                                       std::int64_t len_new);
std::int64_t llmk_argmax_dims_check(std::int64_t n, std::int64_t len_logits);
std::int64_t llmk_gemv_dims_check(std::int64_t m, std::int64_t n, std::int64_t len_a, std::int64_t len_x);

// Total: a code outside the table is "llmk_code_out_of_range".
std::string_view llmk_status_name(std::int64_t code);

}  // namespace krt::llmk
