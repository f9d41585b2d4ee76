// ExpNonPositive: e^x in f32 for x <= 0, as softmax and the logistic function need it. Include inside a file compiled
// per target, after highway.h.
//
// Error   at most 1 unit in the last place where e^x is a normal f32
// Exact   e^0 == 1; x < ln(2^-126) = -87.3365 and -infinity give 0; NaN gives NaN
// Method  x = n ln 2 + r with |r| <= ln(2)/2, then 2^n (1 + r + r^2 q(r)); q is a minimax fit of degree 4 whose share
//         of the error is 0.06 * 2^-24

#if defined(KRT_SIMD_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KRT_SIMD_EXP_INL_H
#undef KRT_SIMD_EXP_INL_H
#else
#define KRT_SIMD_EXP_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace krt::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpNonPositive(D d, V x) {
  const hn::Rebind<std::int32_t, D> di;
  const V lowest = hn::Set(d, -0x1.5d589ep6F);
  const V clamped = hn::Max(x, lowest);  // keeps the conversion to an integer in range

  const auto n = hn::NearestInt(hn::Mul(clamped, hn::Set(d, 0x1.715476p0F)));
  const V whole = hn::ConvertTo(d, n);
  V r = hn::NegMulAdd(whole, hn::Set(d, 0x1.62p-1F), x);  // ln 2 in two parts; n times the first is exact
  r = hn::NegMulAdd(whole, hn::Set(d, 0x1.c85fe0p-10F), r);

  V q = hn::Set(d, 0x1.6a23c0p-10F);
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.123a20p-7F));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.5558f4p-5F));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.555492p-3F));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.fffffcp-2F));
  const V p = hn::Add(hn::MulAdd(q, hn::Mul(r, r), r), hn::Set(d, 1.0F));

  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
  return hn::IfThenZeroElse(hn::Lt(x, lowest), hn::Mul(p, power));
}

}  // namespace krt::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
