#include "modules/decode/rmsnorm/rmsnorm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/decode/rmsnorm/rmsnorm_simd.cc"
#include <cmath>

#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"
#include "runtime/simd/for_each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace krt::decode::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// In f64: a square of an f32 is exact there, and the error of the sum is far below one f32 rounding for every d.
// load(tag, i) gives the lanes that begin at i. Four sums hide the latency of the addition.
template <class Load>
HWY_INLINE double sum_of_squares(std::size_t d, const Load& load) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  const std::size_t lanes = hn::Lanes(wide);
  const auto add_square = [&](auto sum, std::size_t i) HWY_ATTR {
    const auto v = hn::PromoteTo(wide, load(narrow, i));
    return hn::MulAdd(v, v, sum);
  };
  auto a = hn::Zero(wide);
  auto b = a;
  auto c = a;
  auto e = a;
  std::size_t i = 0;
  for (; i + 4 * lanes <= d; i += 4 * lanes) {
    a = add_square(a, i);
    b = add_square(b, i + lanes);
    c = add_square(c, i + 2 * lanes);
    e = add_square(e, i + 3 * lanes);
  }
  for (; i + lanes <= d; i += lanes) a = add_square(a, i);
  double sum = hn::GetLane(hn::SumOfLanes(wide, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  for (; i < d; ++i) {
    const auto v = double{hn::GetLane(load(hn::CappedTag<float, 1>(), i))};
    sum += v * v;
  }
  return sum;
}

HWY_INLINE double sum_of_row(float* residual, const float* x, std::size_t d) {
  if (residual == nullptr)
    return sum_of_squares(d, [&](auto t, std::size_t i) HWY_ATTR { return hn::LoadU(t, x + i); });
  return sum_of_squares(d, [&](auto t, std::size_t i) HWY_ATTR {
    const auto v = hn::Add(hn::LoadU(t, residual + i), hn::LoadU(t, x + i));
    hn::StoreU(v, t, residual + i);
    return v;
  });
}

void rmsnorm_row(float* residual, const float* x, const float* weight, std::size_t d, double eps, float* out) {
  const double sum = sum_of_row(residual, x, d);
  const auto scale = static_cast<float>(1 / std::sqrt(sum / static_cast<double>(d) + eps));
  const float* values = residual == nullptr ? x : residual;
  simd::HWY_NAMESPACE::for_each(d, [&](auto t, std::size_t i) HWY_ATTR {
    const auto normal = hn::Mul(hn::LoadU(t, values + i), hn::Set(t, scale));
    hn::StoreU(hn::Mul(normal, hn::LoadU(t, weight + i)), t, out + i);
  });
}

}  // namespace krt::decode::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace krt::decode {

const std::vector<Variant<RmsNormRow>>& rmsnorm_variants() {
  static const auto list = simd_variants<RmsNormRow>(KRT_SIMD_FORMS(rmsnorm_row), rmsnorm_row_reference);
  return list;
}

}  // namespace krt::decode
#endif  // HWY_ONCE
