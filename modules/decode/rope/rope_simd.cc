#include "modules/decode/rope/rope.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/decode/rope/rope_simd.cc"
#include <algorithm>

#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"
#include "runtime/simd/for_each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace krt::decode::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// So many pairs at a time: their angles in f32 serve every head before the next come.
constexpr std::size_t kPairs = 128;

// a of `pairs` pairs from x on, b from x + stride on.
HWY_INLINE void rotate_halves(float* x, std::size_t stride, std::size_t pairs, const float* cos, const float* sin) {
  simd::HWY_NAMESPACE::for_each(pairs, [&](auto d, std::size_t i) HWY_ATTR {
    const auto a = hn::LoadU(d, x + i);
    const auto b = hn::LoadU(d, x + stride + i);
    const auto c = hn::LoadU(d, cos + i);
    const auto s = hn::LoadU(d, sin + i);
    hn::StoreU(hn::NegMulAdd(b, s, hn::Mul(a, c)), d, x + i);
    hn::StoreU(hn::MulAdd(a, s, hn::Mul(b, c)), d, x + stride + i);
  });
}

// Pairs of neighbours; cos holds every cosine twice, sin every sine as -sin, sin.
HWY_INLINE void rotate_neighbours(float* x, std::size_t pairs, const float* cos, const float* sin) {
  simd::HWY_NAMESPACE::for_each<2>(2 * pairs, [&](auto d, std::size_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    const auto product = hn::Mul(v, hn::LoadU(d, cos + i));
    hn::StoreU(hn::MulAdd(hn::Reverse2(d, v), hn::LoadU(d, sin + i), product), d, x + i);
  });
}

void rope_halves(float* x, std::size_t heads, std::size_t pairs, const double* cos, const double* sin) {
  HWY_ALIGN float c[kPairs];
  HWY_ALIGN float s[kPairs];
  for (std::size_t begin = 0; begin < pairs; begin += kPairs) {
    const std::size_t count = std::min(kPairs, pairs - begin);
    for (std::size_t i = 0; i < count; ++i) {
      c[i] = static_cast<float>(cos[begin + i]);
      s[i] = static_cast<float>(sin[begin + i]);
    }
    for (std::size_t head = 0; head < heads; ++head) rotate_halves(x + head * 2 * pairs + begin, pairs, count, c, s);
  }
}

void rope_neighbours(float* x, std::size_t heads, std::size_t pairs, const double* cos, const double* sin) {
  HWY_ALIGN float c[2 * kPairs];
  HWY_ALIGN float s[2 * kPairs];
  for (std::size_t begin = 0; begin < pairs; begin += kPairs) {
    const std::size_t count = std::min(kPairs, pairs - begin);
    for (std::size_t i = 0; i < count; ++i) {
      c[2 * i] = c[2 * i + 1] = static_cast<float>(cos[begin + i]);
      s[2 * i + 1] = static_cast<float>(sin[begin + i]);
      s[2 * i] = -s[2 * i + 1];
    }
    for (std::size_t head = 0; head < heads; ++head) rotate_neighbours(x + 2 * (head * pairs + begin), count, c, s);
  }
}

void rope_row(float* x, std::size_t heads, std::size_t pairs, const double* cos, const double* sin, bool interleaved) {
  return interleaved ? rope_neighbours(x, heads, pairs, cos, sin) : rope_halves(x, heads, pairs, cos, sin);
}

}  // namespace krt::decode::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace krt::decode {

const std::vector<Variant<RopeRow>>& rope_variants() {
  static const auto list = simd_variants<RopeRow>(KRT_SIMD_FORMS(rope_row), rope_row_reference);
  return list;
}

}  // namespace krt::decode
#endif  // HWY_ONCE
