#pragma once
// mlpk.contract: the status vocabulary of the mlpk family (390 to 399), its activations, and the checks that its
// functions run before they read an element. The names of the functions are Algenta's; the numbers are ours.
//
// Matrices are row-major and packed, f64. Lengths are exact: a list of another length than its dimensions say is
// refused, never read in part.
// Order of the checks: a dimension < 1 (391), then a dimension > kMaxDim or a result > kMaxCells (394), then the
// lengths in argument order, then kinds and scalars (399), then what the ids hold (398).

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "modules/checks.h"
#include "runtime/registry/declaration.h"

namespace krt::mlpk {

inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 24;
// What is not bounded by the lists given (a gather, a gradient of a whole embedding) stops at 2 GiB of f64.
inline constexpr std::int64_t kMaxCells = std::int64_t{1} << 28;
// Values from which work is shared out over the arena, and the least that one worker is woken for.
inline constexpr std::int64_t kParallelMinCells = std::int64_t{1} << 15;

enum MlpStatus : std::int64_t {
  kOk = 390,
  kEmptyDimension = 391,
  kALengthMismatch = 392,
  kBLengthMismatch = 393,
  kDimensionTooLarge = 394,
  kCodeOutOfRange = 395,
  kWeightLengthMismatch = 396,
  kGradLengthMismatch = 397,
  kIdOutOfRange = 398,
  kBadParameter = 399,
};

inline constexpr std::array<StatusEntry, 10> kStatuses{{
    {kOk, "mlpk_ok", "the kernel ran and every element of the output is defined"},
    {kEmptyDimension, "mlpk_empty_dimension", "a required dimension was < 1"},
    {kALengthMismatch, "mlpk_a_length_mismatch", "the first list (a, x, value; gate of a gate) has another length"},
    {kBLengthMismatch, "mlpk_b_length_mismatch", "the second list (b, gate, ids; up of a gate) has another length"},
    {kDimensionTooLarge, "mlpk_dimension_too_large", "a dimension exceeds 1 << 24, or a result 1 << 28 cells"},
    {kCodeOutOfRange, "mlpk_code_out_of_range", "not one of these codes"},
    {kWeightLengthMismatch, "mlpk_weight_length_mismatch", "a weight matrix has another length"},
    {kGradLengthMismatch, "mlpk_grad_length_mismatch", "dy has another length"},
    {kIdOutOfRange, "mlpk_id_out_of_range", "a token id is negative or not below the vocabulary"},
    {kBadParameter, "mlpk_bad_parameter", "an unknown activation, a bad step, or an empty or infinite interval"},
}};
inline constexpr DimRule kDimRule{kOk, kEmptyDimension, kDimensionTooLarge, kMaxDim};

// How a gate is activated: `kind` of mlpk.activation.
enum Activation : std::int64_t {
  kSwiglu = 0,     // silu(x) = x sigmoid(x)
  kGegluErf = 1,   // gelu, exact
  kGegluTanh = 2,  // gelu, its tanh form
};
bool mlp_activation_known(std::int64_t kind);

// Which form of a kernel ran: 0 serial, 1 parallel. Total: any other code is "unknown".
enum Backend : std::int64_t { kSerial = 0, kParallel = 1 };
std::string_view mlp_backend_name(std::int64_t code);
// Total: a code outside the table is "mlpk_code_out_of_range".
std::string_view mlp_status_name(std::int64_t code);

// The checks, as a status.
std::int64_t mlp_dims_check(std::int64_t n_tok, std::int64_t d_model, std::int64_t d_ff);
std::int64_t mlp_vocab_check(std::int64_t n_tok, std::int64_t vocab, std::int64_t d_model);
// Two lists of n values.
std::int64_t mlp_pair_ok(std::int64_t n, std::span<const double> a, std::span<const double> b);
// x: [tokens, d_model], wg and wu: [d_model, d_ff], wd: [d_ff, d_model].
std::int64_t mlp_block_dims_ok(std::int64_t tokens, std::int64_t d_model, std::int64_t d_ff, std::span<const double> x,
                               std::span<const double> wg, std::span<const double> wu, std::span<const double> wd);
// The value is finite.
bool mlp_scalars_ok(double value);

// How far rounding may move a sum of reduction_width products of that magnitude in all:
// (reduction_width + 2) 2^-53 |magnitude|; 0 where reduction_width < 1.
double mlp_tol_for(double magnitude, std::int64_t reduction_width);
// The three products of a gated block, 6 n_tok d_model d_ff flops, cost no more than `ceiling`; false for dimensions
// outside [1, kMaxDim].
bool mlp_work_fits(std::int64_t n_tok, std::int64_t d_model, std::int64_t d_ff, std::int64_t ceiling);
// How many workers share n values: as many as requested (all cores where that is < 1), no more than there are cores, no
// more than one for each kParallelMinCells values, at least 1.
std::int64_t mlp_workers_for(std::int64_t n, std::int64_t requested, std::int64_t physical_cores);

}  // namespace krt::mlpk
