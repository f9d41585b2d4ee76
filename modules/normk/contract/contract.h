#pragma once
// normk.contract: the status vocabulary of the normk family (380 to 389) and the checks that its functions run before
// they read an element. The names of the functions are Algenta's; the numbers within 380-389 are ours.
//
// Matrices are row-major and packed, f64; a row is what is normalised. Lengths are exact: a list of another length than
// its dimensions say is refused, never read in part.
// Order of the checks: a dimension < 1 (381), then a dimension > kMaxDim (384), then eps and step (386), then the
// lengths in argument order.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/registry/declaration.h"

namespace krt::normk {

inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 24;
// A gradient check normalises a row of n_cols four times for each of its values: n_rows n_cols^2 stops here.
inline constexpr std::int64_t kMaxGradcheckWork = std::int64_t{1} << 28;
// n_rows * n_cols from which the rows are shared out over the arena.
inline constexpr std::size_t kParallelMinCells = std::size_t{1} << 15;

enum NormStatus : std::int64_t {
  kOk = 380,
  kEmptyDimension = 381,
  kXLengthMismatch = 382,
  kGammaLengthMismatch = 383,
  kDimensionTooLarge = 384,
  kCodeOutOfRange = 385,
  kBadScalar = 386,
  kBetaLengthMismatch = 387,
  kDyLengthMismatch = 388,
  kStatsLengthMismatch = 389,
};

inline constexpr std::array<StatusEntry, 10> kStatuses{{
    {kOk, "normk_ok", "the kernel ran and every element of the output is defined"},
    {kEmptyDimension, "normk_empty_dimension", "a required dimension was < 1"},
    {kXLengthMismatch, "normk_x_length_mismatch", "len(x) != n_rows * n_cols"},
    {kGammaLengthMismatch, "normk_gamma_length_mismatch", "len(gamma) != n_cols"},
    {kDimensionTooLarge, "normk_dimension_too_large",
     "a dimension exceeds 1 << 24, or n_rows * n_cols^2 of a gradient check 1 << 28"},
    {kCodeOutOfRange, "normk_code_out_of_range", "not one of these codes"},
    {kBadScalar, "normk_bad_scalar", "eps or step is not a finite number above 0"},
    {kBetaLengthMismatch, "normk_beta_length_mismatch", "len(beta) != n_cols"},
    {kDyLengthMismatch, "normk_dy_length_mismatch", "len(dy) != n_rows * n_cols"},
    {kStatsLengthMismatch, "normk_stats_length_mismatch", "len(mean) or len(rstd) != n_rows"},
}};

// 381, 384 and 386.
std::int64_t norm_dims_check(std::int64_t n_rows, std::int64_t n_cols, double eps);
// A finite number above 0.
bool norm_eps_ok(double eps);
// Total: a code outside the table is "normk_code_out_of_range".
std::string_view norm_status_name(std::int64_t code);
// How far rounding may move a value of that magnitude in a row of n_cols: (n_cols / 2 + 6) 2^-53 |magnitude|, the error
// bound of normk.rmsnorm; 0 where n_cols < 1.
double norm_tol_for(double magnitude, std::int64_t n_cols);
// n_rows * n_cols <= ceiling, for dimensions inside [1, kMaxDim]; false for others.
bool norm_work_fits(std::int64_t n_rows, std::int64_t n_cols, std::int64_t ceiling);

// norm_dims_check for a gradient check: its step too, and its work.
std::int64_t gradcheck_dims_check(std::int64_t n_rows, std::int64_t n_cols, double eps, double step);

}  // namespace krt::normk
