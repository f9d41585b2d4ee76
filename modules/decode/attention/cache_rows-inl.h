// How rows of a KV cache are read and written in vectors. A reader gives the f32 lanes of tag d that begin at value i
// of a row. Include inside a file compiled per target, after highway.h.

#if defined(KRT_DECODE_CACHE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KRT_DECODE_CACHE_ROWS_INL_H
#undef KRT_DECODE_CACHE_ROWS_INL_H
#else
#define KRT_DECODE_CACHE_ROWS_INL_H
#endif

#include <cmath>
#include <cstring>
#include <limits>

#include "hwy/highway.h"
#include "modules/decode/attention/kv_cache.h"
#include "runtime/core/half.h"
#include "runtime/simd/for_each-inl.h"
#include "runtime/simd/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace krt::decode::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kLanes = HWY_LANES(float);
using simd::HWY_NAMESPACE::for_each;

using simd::HWY_NAMESPACE::kHasF16;
using simd::HWY_NAMESPACE::promote_bf16;
using simd::HWY_NAMESPACE::promote_f16;

struct ReadF32 {
  static constexpr CacheFormat kFormat = CacheFormat::kF32;
  static constexpr std::size_t kBytes = 4;  // of a value
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* row, std::size_t i) {
    return hn::LoadU(d, reinterpret_cast<const float*>(row) + i);
  }
};

struct ReadF16 {
  static constexpr CacheFormat kFormat = CacheFormat::kF16;
  static constexpr std::size_t kBytes = 2;  // of a value
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* row, std::size_t i) {
    return promote_f16(d, reinterpret_cast<const std::uint16_t*>(row) + i);
  }
};

struct ReadBf16 {
  static constexpr CacheFormat kFormat = CacheFormat::kBF16;
  static constexpr std::size_t kBytes = 2;  // of a value
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* row, std::size_t i) {
    return promote_bf16(d, reinterpret_cast<const std::uint16_t*>(row) + i);
  }
};

constexpr std::size_t kQ8Values = 32, kQ8Bytes = 34;  // of a block: the scale in f16, then the integers

struct ReadQ8_0 {
  static constexpr CacheFormat kFormat = CacheFormat::kQ8_0;
  // A whole row at once, so that a block's scale is read once; the row's own zeros fill it up to `width`.
  static HWY_INLINE void widen(const std::byte* row, std::size_t width, float* out) {
    const hn::ScalableTag<float> d;
    const hn::CappedTag<float, 4> four;
    const hn::Rebind<std::int32_t, decltype(d)> di;
    const hn::Rebind<std::int8_t, decltype(d)> bytes;
    const auto block = [&](std::size_t n) HWY_ATTR {
      // The first of four halves, the others being integers: the conversion of one alone takes a dozen operations.
      const auto scale = hn::Set(d, hn::GetLane(promote_f16(four, reinterpret_cast<const std::uint16_t*>(row))));
      const auto* integers = reinterpret_cast<const std::int8_t*>(row + 2);
      for (std::size_t i = 0; i < n; i += kLanes) {
        const auto wide = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(bytes, integers + i)));
        hn::StoreU(hn::Mul(wide, scale), d, out + i);
      }
      row += kQ8Bytes;
      out += n;
    };
    const float* const end = out + width / kQ8Values * kQ8Values;
    while (out != end) block(kQ8Values);
    if (width % kQ8Values != 0) block(width % kQ8Values);
  }
};

// fn(reader) for a format.
template <class Fn>
HWY_INLINE void with_reader(CacheFormat format, const Fn& fn) {
  switch (format) {
    case CacheFormat::kF32: return fn(ReadF32());
    case CacheFormat::kF16: return fn(ReadF16());
    case CacheFormat::kBF16: return fn(ReadBf16());
    case CacheFormat::kQ8_0: return fn(ReadQ8_0());
  }
}

HWY_INLINE void store_f16(const float* x, std::size_t n, std::uint16_t* out) {
  if constexpr (kHasF16) {
    for_each(n, [&](auto d, std::size_t i) HWY_ATTR {
      const hn::Rebind<hwy::float16_t, decltype(d)> half;
      hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, x + i)), half, reinterpret_cast<hwy::float16_t*>(out + i));
    });
  } else {
    for (std::size_t i = 0; i < n; ++i) out[i] = to_f16(x[i]).bits;
  }
}

// As to_bf16: to nearest even, a NaN made quiet.
HWY_INLINE void store_bf16(const float* x, std::size_t n, std::uint16_t* out) {
  for_each(n, [&](auto d, std::size_t i) HWY_ATTR {
    const hn::Rebind<std::uint32_t, decltype(d)> du;
    const hn::Rebind<std::uint16_t, decltype(d)> half;
    const auto value = hn::LoadU(d, x + i);
    const auto bits = hn::BitCast(du, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF)));
    const auto quiet = hn::Or(bits, hn::Set(du, 0x400000));
    const auto nan = hn::RebindMask(du, hn::IsNaN(value));
    hn::StoreU(hn::TruncateTo(half, hn::ShiftRight<16>(hn::IfThenElse(nan, quiet, rounded))), half, out + i);
  });
}

// n <= 32 values; the others are 0.
HWY_INLINE void store_q8_0(const float* x, std::size_t n, std::byte* block) {
  const hn::ScalableTag<float> d;
  HWY_ALIGN float values[kQ8Values] = {};
  std::memcpy(values, x, n * sizeof *x);
  auto largest = hn::Zero(d);
  auto spoiled = hn::Zero(d);  // 0 * x is NaN where x is not finite
  for (std::size_t i = 0; i < kQ8Values; i += kLanes) {
    const auto v = hn::Load(d, values + i);
    largest = hn::Max(largest, hn::Abs(v));
    spoiled = hn::MulAdd(hn::Zero(d), v, spoiled);
  }
  const bool finite = hn::GetLane(hn::SumOfLanes(d, spoiled)) == 0;
  const float scale = finite ? hn::GetLane(hn::MaxOfLanes(d, largest)) / 127 : std::numeric_limits<float>::quiet_NaN();
  const F16 stored = to_f16(scale);
  std::memcpy(block, &stored, sizeof stored);
  const float inverse = finite && to_f32(stored) != 0 ? 1 / scale : 0;
  auto* integers = reinterpret_cast<std::int8_t*>(block + 2);
  if (inverse == 0) {
    std::memset(integers, 0, kQ8Values);
    return;
  }
  const hn::Rebind<std::int8_t, decltype(d)> bytes;
  for (std::size_t i = 0; i < kQ8Values; i += kLanes)
    hn::StoreU(hn::DemoteTo(bytes, hn::NearestInt(hn::Mul(hn::Load(d, values + i), hn::Set(d, inverse)))), bytes,
               integers + i);
}

void store_row(CacheFormat format, const float* x, std::size_t n, std::byte* row) {
  auto* halves = reinterpret_cast<std::uint16_t*>(row);
  switch (format) {
    case CacheFormat::kF32: std::memcpy(row, x, n * sizeof *x); break;
    case CacheFormat::kF16: store_f16(x, n, halves); break;
    case CacheFormat::kBF16: store_bf16(x, n, halves); break;
    case CacheFormat::kQ8_0:
      for (std::size_t i = 0; i < n; i += kQ8Values)
        store_q8_0(x + i, n - i < kQ8Values ? n - i : kQ8Values, row + i / kQ8Values * kQ8Bytes);
      break;
  }
}

}  // namespace krt::decode::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
