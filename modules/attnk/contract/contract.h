#pragma once
// attnk.contract: the status vocabulary of the attnk family (360 to 379), its limits, and the arithmetic of how much
// memory and work an attention call takes.
//
// Every function of the family checks in this order: a dimension < 1 (361), a dimension > kMaxDim (362), the grouping
// of the heads (363, 364), scalars (365, 366), the size of the result and of the work (376), the lengths of q, k, v and
// of the other lists (367 to 373), then what the lists hold (374, 375). A list must have exactly the length that the
// dimensions give it.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "runtime/registry/declaration.h"

namespace krt::attnk {

// Refuses a caller who passes a byte count or an unbounded length where an element count belongs.
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 24;
// The longest result that is not bounded by the caller's own lists (masks, tables, scores): 512 MiB of f64.
inline constexpr std::int64_t kMaxCells = std::int64_t{1} << 26;
// The most multiply-adds of one product (queries x keys x heads x head dimension) that one call takes on: 16 heads of
// 128 over 16,384 queries and keys are half of it. Refuses what would hold a server's threads for hours.
inline constexpr std::int64_t kMaxWork = std::int64_t{1} << 40;

enum AttnStatus : std::int64_t {
  kOk = 360,
  kEmptyDimension = 361,
  kDimensionTooLarge = 362,
  kHeadsNotGrouped = 363,
  kHeadDimOdd = 364,
  kScaleInvalid = 365,
  kParameterInvalid = 366,
  kQLengthMismatch = 367,
  kKLengthMismatch = 368,
  kVLengthMismatch = 369,
  kBiasLengthMismatch = 370,
  kDoutLengthMismatch = 371,
  kListLengthMismatch = 372,
  kTableLengthMismatch = 373,
  kPositionOutOfRange = 374,
  kSequencesInvalid = 375,
  kTooLarge = 376,
  kCodeOutOfRange = 379,
};

inline constexpr std::array<StatusEntry, 18> kStatuses{{
    {kOk, "attn_ok", "the kernel ran and every element of the output is defined"},
    {kEmptyDimension, "attn_empty_dimension", "a required dimension, block size or worker count was < 1"},
    {kDimensionTooLarge, "attn_dimension_too_large", "a dimension or offset exceeds 1 << 24"},
    {kHeadsNotGrouped, "attn_heads_not_grouped", "the query heads are no multiple of the key-value heads"},
    {kHeadDimOdd, "attn_head_dim_odd", "rope: the head dimension is odd, so it has no pairs"},
    {kScaleInvalid, "attn_scale_invalid", "the scale is not finite or not above zero"},
    {kParameterInvalid, "attn_parameter_invalid", "another scalar is outside its documented range"},
    {kQLengthMismatch, "attn_q_length_mismatch", "len(q) is not n_tok_q * h_q * d"},
    {kKLengthMismatch, "attn_k_length_mismatch", "len(k) is not n_tok_k * h_kv * d"},
    {kVLengthMismatch, "attn_v_length_mismatch", "len(v) is not n_tok_k * h_kv * d"},
    {kBiasLengthMismatch, "attn_bias_length_mismatch", "len(bias) is not n_tok_q * n_tok_k"},
    {kDoutLengthMismatch, "attn_dout_length_mismatch", "len(dout) is not n_tok_q * h_q * d"},
    {kListLengthMismatch, "attn_list_length_mismatch", "another list has not the length that its contract states"},
    {kTableLengthMismatch, "attn_table_length_mismatch", "rope: a table is no whole number of rows, or the two differ"},
    {kPositionOutOfRange, "attn_position_out_of_range", "rope: a position is negative or beyond the table"},
    {kSequencesInvalid, "attn_sequences_invalid", "cu_seqlens does not rise from 0 to the total"},
    {kTooLarge, "attn_too_large", "the result or the work of the call exceeds its ceiling"},
    {kCodeOutOfRange, "attn_code_out_of_range", "not one of these codes"},
}};

// The product, or INT64_MAX where it is no smaller. Factors are 1 or more.
std::int64_t product(std::initializer_list<std::int64_t> factors);

// kOk, or the first of: a dimension < 1, one > kMaxDim, h_q no multiple of h_kv.
std::int64_t attn_dims_check(std::int64_t n_seq, std::int64_t h_q, std::int64_t h_kv, std::int64_t s_q,
                             std::int64_t s_k, std::int64_t d);
// Finite: what a plain scalar of this family must be.
bool attn_scalars_ok(double scale);
// Finite and above zero: what a scale must be (365 otherwise).
bool attn_scale_ok(double scale);

// Which form computed a result: 0 none, 1 direct, 2 tiled, 3 unstable. Total: any other code is "unknown".
enum Backend : std::int64_t { kNone = 0, kDirect = 1, kTiled = 2, kUnstable = 3 };
std::string_view attn_backend_name(std::int64_t code);
// Total: a code outside the table is "attn_code_out_of_range".
std::string_view attn_status_name(std::int64_t code);

// Memory, in bytes of f64. A dimension < 1 makes each of these false or 0; none overflows.
//
// One score matrix a worker: 8 * s_q * s_kv * n_workers <= ceiling.
bool attn_score_bytes_fit(std::int64_t s_q, std::int64_t s_kv, std::int64_t n_workers, std::int64_t ceiling);
// One head of the direct form: its scores, q, k, v and out: 8 * (s_q s_kv + 2 s_q d + 2 s_kv d).
double attn_ws_bytes_direct(std::int64_t s_q, std::int64_t s_kv, std::int64_t d);
// One tile of the tiled form: scores, q, k, v, out, and a maximum and a sum a row: 8 * (br bc + 2 br d + 2 bc d + 2
// br).
double attn_ws_bytes_tiled(std::int64_t br, std::int64_t bc, std::int64_t d);

// Work, in cells (multiply-adds of one of the two products).
//
// n_seq * h_q * s * s * d <= ceiling; a dimension < 1 is false.
bool attn_work_fits(std::int64_t n_seq, std::int64_t h_q, std::int64_t s, std::int64_t d, std::int64_t ceiling);
// The sum over packed sequences of length^2 * h_q * d. cu_seqlens has n_seq + 1 entries and rises from 0; where it
// does not, or a dimension is < 1, the answer is 0.
double attn_work_cells_varlen(std::span<const std::int64_t> cu_seqlens, std::int64_t n_seq, std::int64_t h_q,
                              std::int64_t d);

// The starts and ends of packed sequences are sound: n_seq + 1 entries, the first 0, none below the one before it.
bool sequences_ok(std::span<const std::int64_t> cu_seqlens, std::int64_t n_seq);

}  // namespace krt::attnk
