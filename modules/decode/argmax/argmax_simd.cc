#include "modules/decode/argmax/argmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/decode/argmax/argmax_simd.cc"
#include <algorithm>
#include <limits>

#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace krt::decode::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One pass at the speed of the loads finds the block that holds the answer; only that block is searched.
constexpr std::size_t kBlock = 1024;

struct BlockMax {
  float max;  // of the values that are no NaN
  bool has_nan;
};

// n is a multiple of 4 vectors.
HWY_INLINE BlockMax block_max(const float* x, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto max0 = lowest;
  auto max1 = lowest;
  auto max2 = lowest;
  auto max3 = lowest;
  auto nan = hn::IsNaN(lowest);  // none
  for (std::size_t i = 0; i < n; i += 4 * lanes) {
    const auto a = hn::LoadU(d, x + i);
    const auto b = hn::LoadU(d, x + i + lanes);
    const auto c = hn::LoadU(d, x + i + 2 * lanes);
    const auto e = hn::LoadU(d, x + i + 3 * lanes);
    max0 = hn::Max(max0, a);
    max1 = hn::Max(max1, b);
    max2 = hn::Max(max2, c);
    max3 = hn::Max(max3, e);
    nan = hn::Or(nan, hn::Or(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Or(hn::IsNaN(c), hn::IsNaN(e))));
  }
  const auto max = hn::Max(hn::Max(max0, max1), hn::Max(max2, max3));
  return {hn::GetLane(hn::MaxOfLanes(d, max)), !hn::AllFalse(d, nan)};
}

// The first index of `value`, which is among n values; n is a multiple of a vector.
HWY_INLINE std::size_t first_of(const float* x, std::size_t n, float value) {
  const hn::ScalableTag<float> d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto found = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, x + i), hn::Set(d, value)));
    if (found >= 0) return i + static_cast<std::size_t>(found);
  }
  return 0;
}

std::size_t argmax(const float* x, std::size_t n) {
  const std::size_t step = 4 * hn::Lanes(hn::ScalableTag<float>());
  if (n < step) return argmax_reference(x, n);
  const std::size_t size = std::min(kBlock, n / step * step);
  std::size_t best_block = 0;
  float best = -std::numeric_limits<float>::infinity();
  // The last block may overlap the one before it: what was seen already is not greater.
  for (std::size_t i = 0;; i = std::min(i + size, n - size)) {
    const BlockMax block = block_max(x + i, size);
    if (block.has_nan) return i + argmax_reference(x + i, size);
    if (block.max > best) {
      best = block.max;
      best_block = i;
    }
    if (i == n - size) return best_block + first_of(x + best_block, size, best);
  }
}

}  // namespace krt::decode::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace krt::decode {

const std::vector<Variant<Argmax>>& argmax_variants() {
  static const auto list = simd_variants<Argmax>(KRT_SIMD_FORMS(argmax), argmax_reference);
  return list;
}

}  // namespace krt::decode
#endif  // HWY_ONCE
