// for_each(n, body): an elementwise loop over n floats without a read or write past the end. body(d, i) computes the
// lanes of tag d that begin at i, first in full vectors, then in shorter ones, so that an element's bits do not depend
// on where in the buffer it stands. Include inside a file compiled per target, after highway.h.

#if defined(KRT_SIMD_FOR_EACH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KRT_SIMD_FOR_EACH_INL_H
#undef KRT_SIMD_FOR_EACH_INL_H
#else
#define KRT_SIMD_FOR_EACH_INL_H
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace krt::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class Body>
HWY_INLINE std::size_t whole_vectors(D d, std::size_t i, std::size_t n, const Body& body) {
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) body(d, i);
  return i;
}

// kSmallest divides n: 2 for a body that works on pairs of neighbours.
template <std::size_t kSmallest = 1, class Body>
HWY_INLINE void for_each(std::size_t n, const Body& body) {
  std::size_t i = whole_vectors(hn::ScalableTag<float>(), 0, n, body);
  i = whole_vectors(hn::CappedTag<float, 4>(), i, n, body);
  whole_vectors(hn::CappedTag<float, kSmallest>(), i, n, body);
}

}  // namespace krt::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
