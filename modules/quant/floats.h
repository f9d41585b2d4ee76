#pragma once
// The plain types as formats of one value a block. F64 and the integers decode to the nearest f32.

#include "modules/quant/encode.h"

namespace krt::quant {

struct FormatF32 {
  static constexpr BlockInfo kInfo{"F32", 0, 1, 4};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) { *out = load<float>(block); }
  static void encode(const float* x, std::uint8_t* block) { std::memcpy(block, x, sizeof *x); }
};
struct FormatF16 {
  static constexpr BlockInfo kInfo{"F16", 1, 1, 2};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) { *out = load_f16(block); }
  static void encode(const float* x, std::uint8_t* block) { store_f16(block, *x); }
};
struct FormatBF16 {
  static constexpr BlockInfo kInfo{"BF16", 30, 1, 2};
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) {
    *out = to_f32(BF16{load<std::uint16_t>(block)});
  }
  static void encode(const float* x, std::uint8_t* block) {
    const BF16 rounded = to_bf16(*x);
    std::memcpy(block, &rounded.bits, sizeof rounded.bits);
  }
};

template <class T>
struct FormatPlain {
  static KRT_INLINE void decode(const std::uint8_t* block, float* out) { *out = static_cast<float>(load<T>(block)); }
};
struct FormatF64 : FormatPlain<double> {
  static constexpr BlockInfo kInfo{"F64", 28, 1, 8};
};
struct FormatI8 : FormatPlain<std::int8_t> {
  static constexpr BlockInfo kInfo{"I8", 24, 1, 1};
};
struct FormatI16 : FormatPlain<std::int16_t> {
  static constexpr BlockInfo kInfo{"I16", 25, 1, 2};
};
struct FormatI32 : FormatPlain<std::int32_t> {
  static constexpr BlockInfo kInfo{"I32", 26, 1, 4};
};
struct FormatI64 : FormatPlain<std::int64_t> {
  static constexpr BlockInfo kInfo{"I64", 27, 1, 8};
};

}  // namespace krt::quant
