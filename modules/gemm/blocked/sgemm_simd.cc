#include "modules/gemm/blocked/sgemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/gemm/blocked/sgemm_simd.cc"
#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace krt::gemm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Two vectors of columns by four rows: eight sums, as many as hide the latency of an addition, in registers on every
// target. Multiply and add stay apart: a fused step would round once and give other bits than the scalar form.
void gemm_tile(const double* a, const double* b, std::size_t k, double* c) {
  const hn::CappedTag<double, kTileColumns / 2> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t s = 0; s < kTileColumns; s += 2 * lanes) {
    const auto at = [&](std::size_t r, std::size_t half) { return c + r * kTileColumns + s + half * lanes; };
    auto c00 = hn::Load(d, at(0, 0)), c01 = hn::Load(d, at(0, 1)), c10 = hn::Load(d, at(1, 0)),
         c11 = hn::Load(d, at(1, 1)), c20 = hn::Load(d, at(2, 0)), c21 = hn::Load(d, at(2, 1)),
         c30 = hn::Load(d, at(3, 0)), c31 = hn::Load(d, at(3, 1));
    for (std::size_t p = 0; p < k; ++p) {
      const auto b0 = hn::LoadU(d, b + p * kTileColumns + s), b1 = hn::LoadU(d, b + p * kTileColumns + s + lanes);
      const double* const row = a + p * kTileRows;
      const auto a0 = hn::Set(d, row[0]), a1 = hn::Set(d, row[1]), a2 = hn::Set(d, row[2]), a3 = hn::Set(d, row[3]);
      c00 = hn::Add(c00, hn::Mul(a0, b0)), c01 = hn::Add(c01, hn::Mul(a0, b1));
      c10 = hn::Add(c10, hn::Mul(a1, b0)), c11 = hn::Add(c11, hn::Mul(a1, b1));
      c20 = hn::Add(c20, hn::Mul(a2, b0)), c21 = hn::Add(c21, hn::Mul(a2, b1));
      c30 = hn::Add(c30, hn::Mul(a3, b0)), c31 = hn::Add(c31, hn::Mul(a3, b1));
    }
    hn::Store(c00, d, at(0, 0)), hn::Store(c01, d, at(0, 1)), hn::Store(c10, d, at(1, 0));
    hn::Store(c11, d, at(1, 1)), hn::Store(c20, d, at(2, 0)), hn::Store(c21, d, at(2, 1));
    hn::Store(c30, d, at(3, 0)), hn::Store(c31, d, at(3, 1));
  }
}

}  // namespace krt::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace krt::gemm {

void gemm_tile_reference(const double* a, const double* b, std::size_t k, double* __restrict c) {
  for (std::size_t p = 0; p < k; ++p)
    for (std::size_t r = 0; r < kTileRows; ++r)
      for (std::size_t s = 0; s < kTileColumns; ++s)
        c[r * kTileColumns + s] += a[p * kTileRows + r] * b[p * kTileColumns + s];
}

const std::vector<Variant<GemmTile>>& gemm_tile_variants() {
  static const auto list = simd_variants<GemmTile>(KRT_SIMD_FORMS(gemm_tile), gemm_tile_reference);
  return list;
}

}  // namespace krt::gemm
#endif  // HWY_ONCE
