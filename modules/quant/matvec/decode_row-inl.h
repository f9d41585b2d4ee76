// decode_row<F>: values of a row as f32, bit for bit those of F::decode (a NaN may have other bits). Include inside a
// file compiled per target, after highway.h.
//
// Most block formats come in two steps, their codes and scales (unpack-inl.h) and the floats; one without an Unpack is
// decoded by F::decode.

#if defined(KRT_QUANT_DECODE_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KRT_QUANT_DECODE_ROW_INL_H
#undef KRT_QUANT_DECODE_ROW_INL_H
#else
#define KRT_QUANT_DECODE_ROW_INL_H
#endif

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "modules/quant/formats/list.h"
#include "modules/quant/matvec/kernels.h"
#include "modules/quant/unpack-inl.h"
#include "runtime/simd/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace krt::quant::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kLanes>;
constexpr std::size_t kWidth = hn::MaxLanes(Tag());

template <class F>
HWY_INLINE void decode_block(const std::uint8_t* block, float* w) {
  if constexpr (Unpacks<F>) {
    using U = Unpack<F>;
    constexpr auto kValues = static_cast<std::size_t>(F::kInfo.values), kGroups = kValues / U::kGroup;
    float scale[kGroups], minimum[kGroups];
    alignas(64) std::int8_t q[kValues];
    U::codes(block, q);
    if constexpr (kHasMinimum<F>) {
      U::scales(block, scale, minimum);
      for (std::size_t g = 0; g < kGroups; ++g)
        scaled<U::kGroup>(q + g * U::kGroup, scale[g], w + g * U::kGroup, minimum[g]);
    } else {
      U::scales(block, scale);
      for (std::size_t g = 0; g < kGroups; ++g) scaled<U::kGroup>(q + g * U::kGroup, scale[g], w + g * U::kGroup);
    }
  } else {
    F::decode(block, w);
  }
}

// The halves: count values, one after the other.
template <class F, class Load>
HWY_INLINE void decode_halves(const std::uint8_t* from, std::size_t count, float* w, const Load& load) {
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) load(Tag(), from + 2 * i, w + i);
  for (; i < count; ++i) F::decode(from + 2 * i, w + i);
}

// `count`: a whole number of blocks. Zeros follow to a whole number of kLanes.
template <class F>
HWY_INLINE void decode_row(const std::uint8_t* from, std::size_t count, float* w) {
  constexpr auto kValues = static_cast<std::size_t>(F::kInfo.values);
  if constexpr (std::is_same_v<F, FormatF16> || std::is_same_v<F, FormatBF16>) {
    decode_halves<F>(from, count, w, [](auto d, const std::uint8_t* at, float* to) HWY_ATTR {
      const auto* halves = reinterpret_cast<const std::uint16_t*>(at);
      hn::Store(std::is_same_v<F, FormatF16> ? simd::HWY_NAMESPACE::promote_f16(d, halves)
                                             : simd::HWY_NAMESPACE::promote_bf16(d, halves),
                d, to);
    });
  } else if constexpr (std::is_same_v<F, FormatF32>) {
    std::memcpy(w, from, count * sizeof *w);
  } else {
    for (std::size_t i = 0; i < count; i += kValues, from += F::kInfo.bytes) decode_block<F>(from, w + i);
  }
  if constexpr (kValues % kLanes != 0) std::fill(w + count, w + (count + kLanes - 1) / kLanes * kLanes, 0.0F);
}

}  // namespace krt::quant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
