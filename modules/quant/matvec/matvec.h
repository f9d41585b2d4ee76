#pragma once
// quant.matvec: y[r] = sum over c of W[r][c] * x[c], W in any weight format: the floor that serves every format.
//
// Shapes    W: rows x cols, row-major, each row a whole number of blocks; x: f32[cols] (or n of them, one after the
//           other); y: f32[rows] (or n x rows)
// Sums      each block is decoded to f32 and multiplied into kLanes f32 accumulators, value i of a row into lane
//           i mod kLanes; the lanes are added pairwise at the end. |y - exact| <= (cols / kLanes + 6) * 2^-24 * sum |w
//           x|
// Bits      the same for every variant, thread count and number of columns: product and sum round separately
// NaN       a NaN or infinity in x or W spreads by IEEE rules

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/dispatch/variant.h"

namespace krt::quant {

inline constexpr std::size_t kLanes = 16;

// Rows [0, rows) of W against n columns x; y[j * y_stride + r]. Nothing is checked. Up to 64 columns share one decoding
// of a row.
using MatVec = void(const std::uint8_t* weights, std::size_t rows, std::size_t cols, const float* x, std::size_t n,
                    float* y, std::size_t y_stride);
// The forms for WeightFormats[index], best first.
const std::vector<Variant<MatVec>>& matvec_variants(std::size_t index);

struct MatVecResult {
  std::vector<float> y;
  std::int64_t rows;
  std::int64_t status;
  static constexpr std::array kFields{"y", "rows", "status"};
};
// `type`: a weight format; `data`: exactly rows x cols values of it; `x`: exactly cols values.
MatVecResult matvec(Context& context, std::string_view type, std::span<const std::uint8_t> data,
                    std::span<const float> x, std::int64_t rows, std::int64_t cols);

}  // namespace krt::quant
