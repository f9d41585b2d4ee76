#pragma once
// decode: the status vocabulary of the decode step's kernels (600 to 619), shared by norms, RoPE, gates, attention
// and sampling.
//
// Order of the checks: an empty dimension (601), then one that is too large (602), then the lengths in argument order
// (604 to 607), then what the other arguments say (608 to 617). What a code means for one kernel is in its header.

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/registry/declaration.h"

namespace krt::decode {

inline constexpr const char* kModuleSummary = "The kernels between the matrix products of a decode step, in f32";

// The largest value of one dimension (row length, heads, head dimension, vocabulary, context).
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 24;

enum DecodeStatus : std::int64_t {
  kOk = 600,
  kEmptyDimension = 601,
  kDimensionTooLarge = 602,
  kCodeOutOfRange = 603,
  kRowLengthMismatch = 604,
  kOperandLengthMismatch = 605,
  kPositionLengthMismatch = 606,
  kCacheLengthMismatch = 607,
  kOddHeadDimension = 608,
  kHeadCountMismatch = 609,
  kPositionOutOfRange = 610,
  kOverlappingBuffers = 611,
  kParameterOutOfRange = 612,
  kTokenOutOfRange = 613,
  kNanLogit = 614,
  kInfiniteLogit = 615,
  kNoFiniteLogit = 616,
  kDrawUndetermined = 617,
};

inline constexpr std::array<StatusEntry, 18> kStatuses{{
    {kOk, "decode_ok", "the kernel ran and every element of the output is defined"},
    {kEmptyDimension, "decode_empty_dimension", "a required dimension or length was < 1"},
    {kDimensionTooLarge, "decode_dimension_too_large", "a dimension exceeds DECODE_MAX_DIM (1 << 24)"},
    {kCodeOutOfRange, "decode_code_out_of_range", "not one of these codes"},
    {kRowLengthMismatch, "decode_row_length_mismatch", "the values are no whole number of rows"},
    {kOperandLengthMismatch, "decode_operand_length_mismatch", "two operands of one shape differ in length"},
    {kPositionLengthMismatch, "decode_position_length_mismatch", "there is not one position for every row"},
    {kCacheLengthMismatch, "decode_cache_length_mismatch", "a KV cache is not as long as its dimensions say"},
    {kOddHeadDimension, "decode_odd_head_dimension", "a rotation needs an even number of values"},
    {kHeadCountMismatch, "decode_head_count_mismatch", "the query heads are no multiple of the KV heads"},
    {kPositionOutOfRange, "decode_position_out_of_range", "a position is negative or beyond the largest"},
    {kOverlappingBuffers, "decode_overlapping_buffers", "a buffer changed in place overlaps another argument"},
    {kParameterOutOfRange, "decode_parameter_out_of_range", "a scalar argument is outside its documented range"},
    {kTokenOutOfRange, "decode_token_out_of_range", "a token id is outside the vocabulary"},
    {kNanLogit, "decode_nan_logit", "a logit is NaN, so that the row has no distribution"},
    {kInfiniteLogit, "decode_infinite_logit", "a logit is +infinity, so that the row has no distribution"},
    {kNoFiniteLogit, "decode_no_finite_logit", "every logit is -infinity"},
    {kDrawUndetermined, "decode_draw_undetermined", "sampling needs a uniform draw or a seed, and not both"},
}};

// Total: a code outside the table is "decode_code_out_of_range".
std::string_view decode_status_name(std::int64_t code);

}  // namespace krt::decode
