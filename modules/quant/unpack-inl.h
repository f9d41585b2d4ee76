// Unpack<F>: a block of most formats as small integers, its codes, and the scales of groups of them. Include inside a
// file compiled per target, after highway.h.

#if defined(KRT_QUANT_UNPACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KRT_QUANT_UNPACK_INL_H
#undef KRT_QUANT_UNPACK_INL_H
#else
#define KRT_QUANT_UNPACK_INL_H
#endif

#include <array>
#include <cstring>

#include "hwy/highway.h"
#include "modules/quant/formats/list.h"
#include "runtime/simd/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace krt::quant::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// load_f16, by the instruction where there is one: that of every block's scale counts.
HWY_INLINE float load_half(const std::uint8_t* p) {
  const hn::CappedTag<float, 1> d;
  return hn::GetLane(simd::HWY_NAMESPACE::promote_f16(d, reinterpret_cast<const std::uint16_t*>(p)));
}
// body(d, i) for the u8 lanes of tag d that begin at i, of 32.
template <class Body>
HWY_INLINE void bytes32(const Body& body) {
  const hn::CappedTag<std::uint8_t, 32> d;
  for (std::size_t i = 0; i < 32; i += hn::MaxLanes(d)) body(d, i);
}
template <class D>
HWY_INLINE void store(D d, hn::Vec<D> bytes, std::int8_t* to) {
  hn::StoreU(bytes, d, reinterpret_cast<std::uint8_t*>(to));
}
// 32 codes in one store where a vector holds them: a later load of all of them need not wait for two.
template <class V>  // 16 bytes
HWY_INLINE void store32(V first, V second, std::int8_t* to) {
  const hn::CappedTag<std::uint8_t, 32> d;
  if constexpr (hn::MaxLanes(d) == 2 * hn::MaxLanes(hn::DFromV<V>())) {
    store(d, hn::Combine(d, second, first), to);
  } else {
    store(hn::DFromV<V>(), first, to);
    store(hn::DFromV<V>(), second, to + 16);
  }
}
// body(k, bits 2k and 2k + 1 of each byte) for k = 0 to 3.
template <class D, class Body>
HWY_INLINE void quarters(D d, hn::Vec<D> packed, const Body& body) {
  const auto low = hn::Set(d, 3);
  body(0, hn::And(packed, low));
  body(1, hn::And(hn::ShiftRight<2>(packed), low));
  body(2, hn::And(hn::ShiftRight<4>(packed), low));
  body(3, hn::ShiftRight<6>(packed));
}
// The low nibbles of 16 bytes and then the high ones, each less `offset`.
HWY_INLINE void nibbles(const std::uint8_t* packed, std::uint8_t offset, std::int8_t* q) {
  const hn::Full128<std::uint8_t> d;
  const auto bytes = hn::LoadU(d, packed);
  store32(hn::Sub(hn::And(bytes, hn::Set(d, 15)), hn::Set(d, offset)),
          hn::Sub(hn::ShiftRight<4>(bytes), hn::Set(d, offset)), q);
}
// The same nibbles as indices of a table.
HWY_INLINE void look_up(const std::array<std::int8_t, 16>& table, const std::uint8_t* packed, std::int8_t* q) {
  const hn::Full128<std::uint8_t> d;
  const auto values = hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(table.data()));
  const auto bytes = hn::LoadU(d, packed);
  store32(hn::TableLookupBytes(values, hn::And(bytes, hn::Set(d, 15))),
          hn::TableLookupBytes(values, hn::ShiftRight<4>(bytes)), q);
}
// The nibbles with a fifth bit: bit j of `high` is that of value j.
HWY_INLINE void nibbles_and_bits(const std::uint8_t* packed, const std::uint8_t* high, std::uint8_t offset,
                                 std::int8_t* q) {
  const hn::Full128<std::uint8_t> d;
  const auto bytes = hn::LoadU(d, packed);
  const auto fifth = [&](int half)
                         HWY_ATTR { return hn::IfThenElseZero(hn::LoadMaskBits(d, high + half * 2), hn::Set(d, 16)); };
  store32(hn::Sub(hn::Or(hn::And(bytes, hn::Set(d, 15)), fifth(0)), hn::Set(d, offset)),
          hn::Sub(hn::Or(hn::ShiftRight<4>(bytes), fifth(1)), hn::Set(d, offset)), q);
}

// out[i] = scale * q[i], less `minimum` where there is one.
template <std::size_t N, class... Minimum>
HWY_INLINE void scaled(const std::int8_t* q, float scale, float* out, Minimum... minimum) {
  const hn::CappedTag<float, HWY_MIN(N, 16)> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::Rebind<std::int8_t, decltype(d)> bytes;
  for (std::size_t i = 0; i < N; i += hn::MaxLanes(d)) {
    auto value = hn::Mul(hn::Set(d, scale), hn::ConvertTo(d, hn::PromoteTo(integers, hn::LoadU(bytes, q + i))));
    ((value = hn::Sub(value, hn::Set(d, minimum))), ...);
    hn::StoreU(value, d, out + i);
  }
}

// Specialised by a format's -inl.h:
//   kGroup                                    values that share a scale
//   scales(block, float* scale[, minimum])    one of each for every group; value = scale * code - minimum
//   codes(block, std::int8_t* q)              one for every value
template <class F>
struct Unpack;

// Scales that several formats have.
struct OneScale {
  static constexpr std::size_t kGroup = 32;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale) { *scale = load_half(block); }
};
struct ScaleAndMinimum {
  static constexpr std::size_t kGroup = 32;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale, float* minimum) {
    *scale = load_half(block);
    *minimum = -load_half(block + 2);
  }
};
struct KScales {  // the eight scales and minima of k_scales.h behind two f16
  static constexpr std::size_t kGroup = 32;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale, float* minimum) {
    const auto a = load<std::uint32_t>(block + 4), b = load<std::uint32_t>(block + 8),
               c = load<std::uint32_t>(block + 12);
    const auto high = [](std::uint32_t x) { return (x >> 6U & 0x03030303U) << 4U; };
    const std::uint32_t codes[4] = {a & 0x3F3F3F3FU, (c & 0x0F0F0F0FU) | high(a), b & 0x3F3F3F3FU,
                                    (c >> 4U & 0x0F0F0F0FU) | high(b)};
    std::int8_t q[16];
    std::memcpy(q, codes, sizeof q);
    scaled<8>(q, load_half(block), scale);
    scaled<8>(q + 8, load_half(block + 2), minimum);
  }
};

#include "modules/quant/iq4_nl/iq4_nl-inl.h"
#include "modules/quant/iq4_xs/iq4_xs-inl.h"
#include "modules/quant/mxfp4/mxfp4-inl.h"
#include "modules/quant/nvfp4/nvfp4-inl.h"
#include "modules/quant/q2_k/q2_k-inl.h"
#include "modules/quant/q3_k/q3_k-inl.h"
#include "modules/quant/q4_0/q4_0-inl.h"
#include "modules/quant/q4_1/q4_1-inl.h"
#include "modules/quant/q4_k/q4_k-inl.h"
#include "modules/quant/q5_0/q5_0-inl.h"
#include "modules/quant/q5_1/q5_1-inl.h"
#include "modules/quant/q5_k/q5_k-inl.h"
#include "modules/quant/q6_k/q6_k-inl.h"
#include "modules/quant/q8_0/q8_0-inl.h"
#include "modules/quant/tq2_0/tq2_0-inl.h"

template <class F>
concept Unpacks = requires {
  Unpack<F>::kGroup;
};
template <class F>
constexpr bool kHasMinimum = requires(const std::uint8_t* block, float* out) {
  Unpack<F>::scales(block, out, out);
};

}  // namespace krt::quant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
