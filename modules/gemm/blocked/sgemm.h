#pragma once
// gemm.blocked, continued: C = alpha op(A) op(B) in f64 (the name is Algenta's; nothing is rounded to f32), how it is
// blocked, and a check of it.
//
// sgemm_flat   c[i,j] = alpha * sum_p opA[i,p] opB[p,j]; no C is given, so beta scales zeros and has no effect
//
// Shapes   op(A): [m,k], op(B): [k,n], c: [m,n], row-major; a transposed operand is stored as [k,m] or [n,k]; exact
//          lengths; 1 <= m, n, k <= 2^24, m * n <= 2^28, 2 m n k <= kMaxFlops
// Bits     every sum starts at +0.0 and runs in the order of p, product then addition, two roundings, then one
//          multiplication by alpha: the same bits for every thread count, block size and variant
// Error    |c - exact| <= (k + 2) 2^-53 |alpha| sum |a b|
// Threads  from kGemmParallelMinFlops on, the longer side of C is cut into one band a thread
// Status   320; else 321, 324, 322 (len(a)), 323 (len(b)), 327 (alpha or beta) with c empty and every number 0

#include "modules/gemm/blocked/blocked.h"
#include "runtime/dispatch/variant.h"

namespace krt::gemm {

// A minute or two of one core, also for the reference in long double: refuses what would hold a server for hours.
inline constexpr std::int64_t kMaxFlops = std::int64_t{1} << 41, kMaxReferenceFlops = std::int64_t{1} << 36;
inline constexpr std::int64_t kGemmParallelMinFlops = std::int64_t{1} << 19;

GemmResult sgemm_flat(Context& context, std::span<const double> a, std::span<const double> b, std::int64_t m,
                      std::int64_t n, std::int64_t k, double alpha, double beta, bool trans_a, bool trans_b);

struct RefDelta {
  double max_abs_delta;
  double tolerance_at_max;
  bool within_tolerance;
  std::int64_t n_compared;
  std::int64_t status;
  static constexpr std::array kFields{"max_abs_delta", "tolerance_at_max", "within_tolerance", "n_compared", "status"};
};
// sgemm_flat(a, b, m, n, k, 1, 0, false, false) against sums in long double, one cell after the other, each within the
// error bound above. 2 m n k <= kMaxReferenceFlops.
RefDelta gemm_reference_delta_flat(Context& context, std::span<const double> a, std::span<const double> b,
                                   std::int64_t m, std::int64_t n, std::int64_t k);

struct TilePlan {
  std::int64_t tile_m;
  std::int64_t tile_n;
  std::int64_t tile_k;
  double arithmetic_intensity;
  std::int64_t status;
  static constexpr std::array kFields{"tile_m", "tile_n", "tile_k", "arithmetic_intensity", "status"};
};
// The largest cubic tile whose three f64 blocks fit in cache_bytes, 8 (tile_m tile_k + tile_k tile_n + tile_m tile_n),
// cut to the problem; a side that the problem cuts short lets the others grow. arithmetic_intensity: flops of a tile
// over its bytes. Status 333 where not one cell of each fits.
TilePlan gemm_tile_plan(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t cache_bytes);

// The innermost step: c[r,s] += a[p,r] b[p,s] for p = 0 .. k - 1 in that order, on packed operands.
inline constexpr std::size_t kTileRows = 4, kTileColumns = 16;
using GemmTile = void(const double* a, const double* b, std::size_t k, double* c);  // c: [kTileRows, kTileColumns]
GemmTile gemm_tile_reference;                                                       // the variant "scalar"
const std::vector<Variant<GemmTile>>& gemm_tile_variants();

}  // namespace krt::gemm
