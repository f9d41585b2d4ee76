#include "modules/decode/silu_mul/silu_mul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/decode/silu_mul/silu_mul_simd.cc"
#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"
#include "runtime/simd/exp-inl.h"
#include "runtime/simd/for_each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace krt::decode::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Below it OnePlusExpMinus gives some number, where the result may still be in range: the f64 formula takes those
// lanes.
constexpr float kLowest = -87.0F;

void silu_mul(const float* gate, const float* up, std::size_t n, float* out) {
  simd::HWY_NAMESPACE::for_each(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto g = hn::LoadU(d, gate + i);
    const auto silu = hn::Div(g, simd::HWY_NAMESPACE::OnePlusExpMinus(d, g));
    hn::StoreU(hn::Mul(silu, hn::LoadU(d, up + i)), d, out + i);
    if (HWY_LIKELY(hn::AllFalse(d, hn::Lt(g, hn::Set(d, kLowest))))) return;
    for (std::size_t k = i; k < i + hn::Lanes(d); ++k)
      if (gate[k] < kLowest) silu_mul_reference(gate + k, up + k, 1, out + k);
  });
}

}  // namespace krt::decode::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace krt::decode {

const std::vector<Variant<SiluMul>>& silu_mul_variants() {
  static const auto list = simd_variants<SiluMul>(KRT_SIMD_FORMS(silu_mul), silu_mul_reference);
  return list;
}

}  // namespace krt::decode
#endif  // HWY_ONCE
