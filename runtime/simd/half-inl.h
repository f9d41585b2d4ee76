// Halves to the f32 lanes of a tag. Include inside a file compiled per target, after highway.h.

#if defined(KRT_SIMD_HALF_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KRT_SIMD_HALF_INL_H
#undef KRT_SIMD_HALF_INL_H
#else
#define KRT_SIMD_HALF_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace krt::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// SSE4 has no conversion of half precision, and Highway's own takes no infinity and no NaN for one.
constexpr bool kHasF16 = HWY_TARGET != HWY_SSE4;

template <class D>
HWY_INLINE hn::Vec<D> promote_f16(D d, const std::uint16_t* from) {
  if constexpr (kHasF16) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, D>(), reinterpret_cast<const hwy::float16_t*>(from)));
  } else {
    const hn::Rebind<std::uint32_t, D> du;
    const auto bits = hn::PromoteTo(du, hn::LoadU(hn::Rebind<std::uint16_t, D>(), from));
    const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7FFF)));
    // The exponent's bias is 112 less; f16's subnormals become normal in the product.
    const auto value = hn::BitCast(du, hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112F)));
    const auto special = hn::Eq(hn::And(bits, hn::Set(du, 0x7C00)), hn::Set(du, 0x7C00));
    const auto whole = hn::Or(value, hn::IfThenElseZero(special, hn::Set(du, 0x7F800000)));
    return hn::BitCast(d, hn::Or(whole, hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000)))));
  }
}

template <class D>
HWY_INLINE hn::Vec<D> promote_bf16(D d, const std::uint16_t* from) {
  const hn::Rebind<std::uint32_t, D> du;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(hn::Rebind<std::uint16_t, D>(), from))));
}

}  // namespace krt::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
