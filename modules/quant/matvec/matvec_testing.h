#pragma once
// What the tests and benchmarks of the mat-vecs share.

#include <vector>

#include "modules/quant/formats/formats.h"
#include "runtime/testing/random.h"

namespace krt::quant {

// Random blocks of `values` weights; every f16 exponent is kept below that of 1, so that no sum is infinite.
inline std::vector<std::uint8_t> random_weights(const Format& format, std::size_t values, std::uint64_t seed) {
  krt::testing::Rng rng(seed);
  std::vector<std::uint8_t> out(values / static_cast<std::size_t>(format.info.values) *
                                static_cast<std::size_t>(format.info.bytes));
  for (std::uint8_t& b : out) b = static_cast<std::uint8_t>(rng.integer(0, 255)) & 0xBBU;
  return out;
}

}  // namespace krt::quant
