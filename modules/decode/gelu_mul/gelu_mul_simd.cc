#include "modules/decode/gelu_mul/gelu_mul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/decode/gelu_mul/gelu_mul_simd.cc"
#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"
#include "runtime/simd/exp-inl.h"
#include "runtime/simd/for_each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace krt::decode::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// z is -86.9 there. Below it e^z leaves the normal f32 range, and the result may still be inside: the f64 formula takes
// those lanes.
constexpr float kLowestGate = -9.98F;
constexpr float kTwiceScale = 1.5957691216057308F;  // 2 sqrt(2 / pi)
constexpr float kCubic = 0.044715F;

void gelu_mul(const float* gate, const float* up, std::size_t n, float* out) {
  simd::HWY_NAMESPACE::for_each(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto g = hn::LoadU(d, gate + i);
    const auto cubic = hn::MulAdd(hn::Mul(g, g), hn::Set(d, kCubic), hn::Set(d, 1.0F));
    const auto z = hn::Mul(hn::Mul(g, hn::Set(d, kTwiceScale)), cubic);
    const auto gelu = hn::Div(g, simd::HWY_NAMESPACE::OnePlusExpMinus(d, z));
    hn::StoreU(hn::Mul(gelu, hn::LoadU(d, up + i)), d, out + i);
    if (HWY_LIKELY(hn::AllFalse(d, hn::Lt(g, hn::Set(d, kLowestGate))))) return;
    for (std::size_t k = i; k < i + hn::Lanes(d); ++k)
      if (gate[k] < kLowestGate) gelu_mul_reference(gate + k, up + k, 1, out + k);
  });
}

}  // namespace krt::decode::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace krt::decode {

const std::vector<Variant<GeluMul>>& gelu_mul_variants() {
  static const auto list = simd_variants<GeluMul>(KRT_SIMD_FORMS(gelu_mul), gelu_mul_reference);
  return list;
}

}  // namespace krt::decode
#endif  // HWY_ONCE
