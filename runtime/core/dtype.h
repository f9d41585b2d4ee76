#pragma once
// Element types of a tensor. A block type stores `block_elements` values in `block_bytes` bytes; plain types
// have blocks of one.

#include <cstdint>
#include <optional>
#include <string_view>

namespace krt {

enum class DType : std::uint8_t { kF64, kF32, kF16, kBF16, kI8, kU8, kI16, kI32, kI64 };

struct DTypeInfo {
  std::string_view name;  // "f64", "bf16", ...
  std::int32_t block_elements;
  std::int32_t block_bytes;
};

const DTypeInfo& info_of(DType dtype);
std::optional<DType> dtype_named(std::string_view name);

// The storage of the two half types; conversions are in runtime/core/half.h.
struct F16 {
  std::uint16_t bits;
  friend bool operator==(F16, F16) = default;
};
struct BF16 {
  std::uint16_t bits;
  friend bool operator==(BF16, BF16) = default;
};

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<F16> {
  static constexpr DType value = DType::kF16;
};
template <>
struct DTypeOf<BF16> {
  static constexpr DType value = DType::kBF16;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::kI8;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr DType value = DType::kI16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kI64;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace krt
