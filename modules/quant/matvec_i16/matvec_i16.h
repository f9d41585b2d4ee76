#pragma once
// quant.matvec_i16: y[r] = sum over c of W[r][c] * x[c] for W in a block format of small integers, x rounded to 16
// bits.
//
// Shapes    as quant.matvec; every 32 consecutive x share a scale, cols is a whole number of W's blocks
// Rounding  x[c] = scale * q with q = round(x[c] * 32767 / m) and scale = m / 32767, m the largest |x| of the 32; where
//           m is below 2^-90, q = 0. Each x is off by at most m * 2^-15.9
// Sums      in each 32 values the products of W's integers (8 bits) and q are summed in pairs, exactly in i32; lane l
// of
//           16 f32 accumulators adds (scale of W * scale of x) * pair l in one fused step. Minima of a format (Q4_1, K
//           formats) meet the sums of the q of their group, in 8 further lanes
// Bound     with w as quant.decode gives it and x as given, |y - sum w x| <= sum over the 32s of m 2^-15.9 sum |w|
//           + (cols / 32 + 10) 2^-24 sum (|w| + 2 |minimum|) |x|
// Bits      for one variant the same at every thread count and number of columns; the same for all variants with fused
//           steps (not sse4). The scalar variant is quant.matvec's plain form on the rounded x
// NaN       a NaN or infinity among 32 x makes every y NaN; one in W makes its row NaN or infinite
//
// Why: docs/decisions/sixteen-bit-activations.md.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "modules/quant/matvec/matvec.h"
#include "runtime/exec/arena.h"

namespace krt::quant {

// n columns of x, rounded. Memory is kept from use to use.
class RoundedColumns {
 public:
  static constexpr std::size_t kBlock = 32;

  // cols: a multiple of 32. What round() has not filled since is undefined.
  void resize(std::size_t n, std::size_t cols);
  // Columns [range.begin, range.end) of x, one after the other; different ranges may be rounded at the same time.
  void round(Range range, const float* x);

  [[nodiscard]] std::size_t n() const { return n_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] const std::int16_t* q(std::size_t j) const { return q_.data() + j * cols_; }
  // Of groups of 16 or 32 values: the scale, and the sum of the group's rounded values.
  template <std::size_t kGroup>
  [[nodiscard]] const float* scales(std::size_t j) const {
    return (kGroup == 16 ? scales16_ : scales32_).data() + j * (cols_ / kGroup);
  }
  template <std::size_t kGroup>
  [[nodiscard]] const float* sums(std::size_t j) const {
    return (kGroup == 16 ? sums16_ : sums32_).data() + j * (cols_ / kGroup);
  }

 private:
  std::size_t n_ = 0, cols_ = 0;
  std::vector<std::int16_t> q_;
  std::vector<float> scales16_, scales32_, sums16_, sums32_;
};

// Rows [0, rows) of W against all columns: y[j * y_stride + r]. Nothing is checked.
using MatVecI16 = void(const std::uint8_t* weights, std::size_t rows, const RoundedColumns& x, float* y,
                       std::size_t y_stride);
// The forms for WeightFormats[index], best first; empty for a format without integers (F32, grids).
const std::vector<Variant<MatVecI16>>& matvec_i16_variants(std::size_t index);

MatVecResult matvec_i16(Context& context, std::string_view type, std::span<const std::uint8_t> data,
                        std::span<const float> x, std::int64_t rows, std::int64_t cols);

}  // namespace krt::quant
