#pragma once
// What the block formats share. A format is a struct with
//
//   static constexpr BlockInfo kInfo{"Q4_0", 2, 32, 18};             // name, GGUF type id, values and bytes a block
//   static void decode(const std::uint8_t* block, float* out);       // kInfo.values values, in order
//
// A format of small integers and scales also has an Unpack in its -inl.h, for vectors (unpack-inl.h).
//
// decode is the definition of the format: f32 arithmetic in the order written, no contraction. It reads exactly
// kInfo.bytes bytes and works on any bytes whatever (a NaN scale gives NaNs). Blocks need no alignment.
//
// Source of the layouts: the GGUF file format as the `gguf` Python package 0.19 decodes it; every decoder is
// bit-equal to it on the data of tests/oracle (NaN as a class).

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "runtime/core/half.h"

#define KRT_INLINE inline __attribute__((always_inline))

namespace krt::quant {

struct BlockInfo {
  std::string_view name;
  std::uint32_t type;  // the id in GGUF files
  std::int32_t values;
  std::int32_t bytes;
};

// Little-endian reads at any alignment.
template <class T>
KRT_INLINE T load(const std::uint8_t* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
KRT_INLINE float load_f16(const std::uint8_t* p) { return to_f32(F16{load<std::uint16_t>(p)}); }

}  // namespace krt::quant
