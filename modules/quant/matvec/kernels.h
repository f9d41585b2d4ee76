#pragma once
// What the forms of quant.matvec share, and quant.matvec_i16 with them.

#include <algorithm>
#include <cstddef>

#include "modules/quant/block.h"
#include "modules/quant/formats/formats.h"
#include "modules/quant/formats/list.h"
#include "modules/quant/matvec/matvec.h"

namespace krt::quant {

// Pairwise.
KRT_INLINE float sum_lanes(const float* lanes) {
  float s[kLanes / 2];
  for (std::size_t i = 0; i < kLanes / 2; ++i) s[i] = lanes[i] + lanes[i + kLanes / 2];
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

MatVec* matvec_plain(std::size_t index);  // for WeightFormats[index]

// The variants for WeightFormats[0], [1] ...: each of `selects` gives the form of an instruction set for an index, null
// where the format has none; a format without any has no variants.
template <class Fn>
std::vector<std::vector<Variant<Fn>>> variants_by_format(const SimdForms<Fn*(std::size_t)>& selects,
                                                         Fn* (*plain)(std::size_t)) {
  std::vector<std::vector<Variant<Fn>>> all(WeightFormats::kSize);
  for (std::size_t index = 0; index < all.size(); ++index) {
    SimdForms<Fn> forms{};
    for (std::size_t i = 0; i < forms.size(); ++i)
      if (selects[i] != nullptr) forms[i] = selects[i](index);
    if (std::any_of(forms.begin(), forms.end(), [](Fn* form) { return form != nullptr; }))
      all[index] = simd_variants<Fn>(forms, plain(index));
  }
  return all;
}

// The arguments' status; `format` is null for an unknown name.
std::int64_t check_matvec(const Format* format, std::span<const std::uint8_t> data, std::span<const float> x,
                          std::int64_t rows, std::int64_t cols);

// Below this many weights a call runs in the caller: about 20 us of work.
inline constexpr std::size_t kParallelMinWeights = std::size_t{1} << 16;

// The result of a checked call: run(rows, their weights, their y) for a band of rows on every thread.
template <class Run>
MatVecResult for_row_bands(Context& context, std::span<const std::uint8_t> data, std::int64_t rows, std::int64_t cols,
                           const Run& run) {
  const auto m = static_cast<std::size_t>(rows);
  const std::size_t row_bytes = data.size() / m;
  std::vector<float> y(m);
  const bool alone = m * static_cast<std::size_t>(cols) < kParallelMinWeights;
  const std::size_t parts = alone ? 1 : static_cast<std::size_t>(context.arena.threads());
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(m, parts, part);
    run(r, data.data() + r.begin * row_bytes, y.data() + r.begin);
  });
  return {std::move(y), rows, kOk};
}

}  // namespace krt::quant
