// Rows are taken kBandRows at a time: a chunk of each is decoded to f32 in the first-level cache and multiplied with
// the columns in tiles of sums that stay in registers. A sum does not depend on which it is computed beside. A single
// column takes a block as soon as it is decoded: one stream from memory, and a store and a load less.

#include "modules/quant/matvec/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/quant/matvec/matvec_simd.cc"
#include <algorithm>
#include <cstring>

#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"
#include "modules/quant/formats/list.h"
#include "modules/quant/matvec/decode_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace krt::quant::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kChunk = 1024;  // values of a row: those of a band take half of a first-level cache
constexpr std::size_t kBandRows = 4, kBandColumns = 64;
constexpr std::size_t kFloats = 64;   // values of one column's step where blocks are of one value
constexpr std::size_t kAhead = 1024;  // bytes of a stream that are fetched before they are used

using V = hn::Vec<Tag>;
constexpr std::size_t kParts = kLanes / kWidth;
// The sums of a tile: 16 of 32 registers, or 8 of 16.
constexpr std::size_t kTileRows = kBandRows, kTileColumns = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 ? 2 : 4;

struct Band {
  alignas(64) float w[kBandRows][kChunk];
  alignas(64) float sums[kBandRows][kBandColumns][kLanes];
};

// sums[r][j] += w[r] * x[j] for the R rows and C columns from (row, column) on, over `steps` times kLanes values. Lanes
// that no vector holds together are taken one vector after the other, so that the tile is as large as registers allow.
template <std::size_t R, std::size_t C>
HWY_INLINE void tile(Band& band, std::size_t row, std::size_t column, const float* x, std::size_t x_stride,
                     std::size_t steps) {
  constexpr Tag d;
  for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
    V sums[R][C];
    for (std::size_t r = 0; r < R; ++r)
      for (std::size_t j = 0; j < C; ++j) sums[r][j] = hn::Load(d, band.sums[row + r][column + j] + lane);
    for (std::size_t i = lane; i < steps * kLanes; i += kLanes) {
      V w[R];
      for (std::size_t r = 0; r < R; ++r) w[r] = hn::Load(d, band.w[row + r] + i);
      for (std::size_t j = 0; j < C; ++j) {
        const V v = hn::LoadU(d, x + j * x_stride + i);
        for (std::size_t r = 0; r < R; ++r) sums[r][j] = hn::Add(sums[r][j], hn::Mul(w[r], v));
      }
    }
    for (std::size_t r = 0; r < R; ++r)
      for (std::size_t j = 0; j < C; ++j) hn::Store(sums[r][j], d, band.sums[row + r][column + j] + lane);
  }
}

template <std::size_t R>
HWY_INLINE void tiles(Band& band, std::size_t row, const float* x, std::size_t x_stride, std::size_t n,
                      std::size_t steps) {
  std::size_t j = 0;
  for (; j + kTileColumns <= n; j += kTileColumns)
    tile<R, kTileColumns>(band, row, j, x + j * x_stride, x_stride, steps);
  for (; j < n; ++j) tile<R, 1>(band, row, j, x + j * x_stride, x_stride, steps);
}

// A chunk of `count` values of the band's rows, of which the decoded ones are filled up with zeros to whole steps.
HWY_NOINLINE void multiply_chunk(Band& band, std::size_t rows, const float* x, std::size_t x_stride, std::size_t n,
                                 std::size_t count) {
  const std::size_t steps = count / kLanes;
  std::size_t r = 0;
  for (; r + kTileRows <= rows; r += kTileRows) tiles<kTileRows>(band, r, x, x_stride, n, steps);
  for (; r < rows; ++r) tiles<1>(band, r, x, x_stride, n, steps);
  if (count % kLanes == 0) return;
  // The last values of a row whose format has blocks of one.
  for (std::size_t j = 0; j < n; ++j) {
    float tail[kLanes] = {};
    std::copy_n(x + j * x_stride + steps * kLanes, count % kLanes, tail);
    for (r = 0; r < rows; ++r)
      for (std::size_t l = 0; l < kLanes; ++l) band.sums[r][j][l] += band.w[r][steps * kLanes + l] * tail[l];
  }
}

// One row and one column; a format with blocks of one value is taken kFloats values at a time.
template <class F>
HWY_INLINE float dot(const std::uint8_t* row, std::size_t cols, const float* x) {
  constexpr auto kValues = static_cast<std::size_t>(F::kInfo.values);
  constexpr std::size_t kStep = kValues == 1 ? kFloats : kValues;
  constexpr std::size_t kBytes = kStep / kValues * static_cast<std::size_t>(F::kInfo.bytes);
  constexpr Tag d;
  V sums[kParts];
  for (V& sum : sums) sum = hn::Zero(d);
  alignas(64) float w[kStep];
  std::size_t c = 0;
  for (; c + kStep <= cols; c += kStep, row += kBytes) {
    for (std::size_t b = 0; b < kBytes; b += 64) __builtin_prefetch(row + kAhead + b);
    decode_row<F>(row, kStep, w);
    for (std::size_t i = 0; i < kStep; i += kLanes)
      for (std::size_t p = 0; p < kParts; ++p) {
        const std::size_t at = i + p * kWidth;
        sums[p] = hn::Add(sums[p], hn::Mul(hn::Load(d, w + at), hn::LoadU(d, x + c + at)));
      }
  }
  alignas(64) float lanes[kLanes];
  for (std::size_t p = 0; p < kParts; ++p) hn::Store(sums[p], d, lanes + p * kWidth);
  if (c < cols) {
    decode_row<F>(row, cols - c, w);
    for (std::size_t i = 0; i < cols - c; ++i) lanes[i % kLanes] += w[i] * x[c + i];
  }
  return sum_lanes(lanes);
}

template <class F>
void multiply(const std::uint8_t* weights, std::size_t rows, std::size_t cols, const float* x, std::size_t n, float* y,
              std::size_t y_stride) {
  constexpr auto kValues = static_cast<std::size_t>(F::kInfo.values), kBytes = static_cast<std::size_t>(F::kInfo.bytes);
  static_assert(kChunk % kValues == 0);
  const std::size_t row_bytes = cols / kValues * kBytes;
  if (n == 1) {
    for (std::size_t r = 0; r < rows; ++r) y[r] = dot<F>(weights + r * row_bytes, cols, x);
    return;
  }
  Band band;
  for (std::size_t r = 0; r < rows; r += kBandRows)
    for (std::size_t j = 0; j < n; j += kBandColumns) {
      const std::size_t height = std::min(kBandRows, rows - r), width = std::min(kBandColumns, n - j);
      for (std::size_t i = 0; i < height; ++i) std::memset(band.sums[i], 0, width * sizeof band.sums[i][0]);
      for (std::size_t c = 0; c < cols; c += kChunk) {
        const std::size_t count = std::min(kChunk, cols - c);
        for (std::size_t i = 0; i < height; ++i)
          decode_row<F>(weights + (r + i) * row_bytes + c / kValues * kBytes, count, band.w[i]);
        multiply_chunk(band, height, x + j * cols + c, cols, width, count);
      }
      for (std::size_t i = 0; i < height; ++i)
        for (std::size_t k = 0; k < width; ++k) y[(j + k) * y_stride + r + i] = sum_lanes(band.sums[i][k]);
    }
}

template <class... F>
MatVec* of(FormatList<F...>, std::size_t index) {
  // Static: a copy on the stack is made with the instructions of this target, and every target is asked here.
  static constexpr MatVec* table[] = {multiply<F>...};
  return table[index];
}
MatVec* matvec_form(std::size_t index) { return of(WeightFormats{}, index); }

}  // namespace krt::quant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace krt::quant {
const std::vector<Variant<MatVec>>& matvec_variants(std::size_t index) {
  static const auto lists = variants_by_format<MatVec>(KRT_SIMD_FORMS(matvec_form), matvec_plain);
  return lists[index];
}

}  // namespace krt::quant
#endif
