#pragma once
// gemm.contract: the status vocabulary of the gemm family (320 to 333) and the checks that its functions run before
// they read an element. The names of the functions are Algenta's; the numbers within 320-339 are ours.
//
// Matrices are row-major and packed, f64. Lengths are exact: a list of another length than its dimensions say is
// refused, never read in part.
// Order of the checks: a dimension < 1 (321), then a dimension > kMaxDim or a result > kMaxCells (324), then the
// lengths in argument order, then the scalars.

#include <array>
#include <cstdint>
#include <string_view>

#include "modules/checks.h"
#include "runtime/registry/declaration.h"

namespace krt::gemm {

inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 24;
// Two vectors can ask for an outer product of 2^48 cells: results stop at 2 GiB of f64.
inline constexpr std::int64_t kMaxCells = std::int64_t{1} << 28;

enum GemmStatus : std::int64_t {
  kOk = 320,
  kEmptyDimension = 321,
  kALengthMismatch = 322,
  kBLengthMismatch = 323,
  kDimensionTooLarge = 324,
  kCodeOutOfRange = 325,
  kXLengthMismatch = 326,
  kScalarNotFinite = 327,
  kCodesLengthMismatch = 328,
  kScalesLengthMismatch = 329,
  kBadBlock = 330,
  kBadBits = 331,
  kCodeValueOutOfRange = 332,
  kBadCache = 333,
};

inline constexpr std::array<StatusEntry, 14> kStatuses{{
    {kOk, "gemm_ok", "the kernel ran and every element of the output is defined"},
    {kEmptyDimension, "gemm_empty_dimension", "a required dimension was < 1"},
    {kALengthMismatch, "gemm_a_length_mismatch", "len(a) is not what its dimensions say"},
    {kBLengthMismatch, "gemm_b_length_mismatch", "len(b) is not what its dimensions say"},
    {kDimensionTooLarge, "gemm_dimension_too_large",
     "a dimension exceeds 1 << 24, a result 1 << 28 cells, or a product 1 << 41 flops"},
    {kCodeOutOfRange, "gemm_code_out_of_range", "not one of these codes"},
    {kXLengthMismatch, "gemm_x_length_mismatch", "len(x) is not what its dimensions say"},
    {kScalarNotFinite, "gemm_scalar_not_finite", "alpha or beta is NaN or infinite"},
    {kCodesLengthMismatch, "gemm_codes_length_mismatch", "len(w_codes) is not m * n"},
    {kScalesLengthMismatch, "gemm_scales_length_mismatch", "len(w_scales) is not one a block"},
    {kBadBlock, "gemm_bad_block", "the block is < 1 or does not divide a row of the weights"},
    {kBadBits, "gemm_bad_bits", "the width of the codes is not 2 to 8 bits"},
    {kCodeValueOutOfRange, "gemm_code_value_out_of_range", "a weight code does not fit its width"},
    {kBadCache, "gemm_bad_cache", "cache_bytes holds not one cell of each operand"},
}};

// Which form of a kernel ran: `backend_used` of a result.
enum GemmBackend : std::int64_t { kSerial = 0, kParallel = 1 };

inline constexpr DimRule kDimRule{kOk, kEmptyDimension, kDimensionTooLarge, kMaxDim};

// C[m,n] = A[m,k] B[k,n]: the checks of sgemm_flat for whatever transposition, as a status.
std::int64_t gemm_dims_check(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t len_a, std::int64_t len_b);
// Both are finite.
bool gemm_scalars_ok(double alpha, double beta);
// 2 m n k <= ceiling (in flops), for dimensions inside [1, kMaxDim]; false for others.
bool gemm_work_fits(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t ceiling);
// Total: "serial", "parallel", else "unknown".
std::string_view gemm_backend_name(std::int64_t code);
// Total: a code outside the table is "gemm_code_out_of_range".
std::string_view gemm_status_name(std::int64_t code);

}  // namespace krt::gemm
