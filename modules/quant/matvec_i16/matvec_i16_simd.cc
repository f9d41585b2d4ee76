// A chunk of a row at a time: its scales first, all of them together, then its integers. One column takes them as they
// are unpacked; several meet kBandRows unpacked rows in tiles of sums that stay in registers. A sum does not depend on
// which it is computed beside.

#include "modules/quant/matvec_i16/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/quant/matvec_i16/matvec_i16_simd.cc"
#include <algorithm>
#include <cstring>
#include <limits>

#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"
#include "modules/quant/matvec/kernels.h"
#include "modules/quant/unpack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace krt::quant::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlock = RoundedColumns::kBlock;
constexpr std::size_t kChunk = 1024, kMaxGroups = kChunk / 16;
constexpr std::size_t kBandRows = 4, kBandColumns = 64;
constexpr std::size_t kMinimumLanes = 8;
constexpr std::size_t kAhead = 1024;  // bytes of a stream that are fetched before they are used

using Tag = hn::CappedTag<float, kLanes>;
using V = hn::Vec<Tag>;
constexpr std::size_t kWidth = hn::MaxLanes(Tag());
using Pairs = hn::RebindToSigned<Tag>;
using Halves = hn::Repartition<std::int16_t, Pairs>;  // 2 * kWidth values
using Codes = hn::Rebind<std::int8_t, Halves>;
constexpr std::size_t kTileColumns = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 ? 2 : 4;

struct Scales {
  alignas(64) float scale[kMaxGroups + kLanes], minimum[kMaxGroups + kLanes];
};

template <class F>
HWY_INLINE void unpack_scales(const std::uint8_t* row, std::size_t count, Scales& out) {
  constexpr auto kValues = static_cast<std::size_t>(F::kInfo.values), kGroups = kValues / Unpack<F>::kGroup;
  for (std::size_t b = 0; b < count / kValues; ++b, row += F::kInfo.bytes)
    if constexpr (kHasMinimum<F>)
      Unpack<F>::scales(row, out.scale + b * kGroups, out.minimum + b * kGroups);
    else
      Unpack<F>::scales(row, out.scale + b * kGroups);
}

// Lane l: the products of values 2l and 2l + 1, summed.
HWY_INLINE V pair_sums(hn::Vec<Halves> a, hn::Vec<Halves> b) {
  const Pairs d;
  auto odd = hn::Zero(d);
  const auto even = hn::ReorderWidenMulAccumulate(d, a, b, hn::Zero(d), odd);
  return hn::ConvertTo(Tag(), hn::RearrangeToOddPlusEven(even, odd));
}

// The scales of lanes [lane, lane + kWidth) of block `block`, of which each group has one.
template <std::size_t kGroup>
HWY_INLINE V lane_scales(const float* scales, std::size_t block, std::size_t lane) {
  const Tag d;
  if constexpr (kGroup == kBlock) {
    return hn::Set(d, scales[block]);
  } else if constexpr (kWidth == kLanes) {
    alignas(64) static constexpr std::int32_t kHalves[kLanes] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    return hn::TableLookupLanes(hn::LoadDup128(d, scales + 2 * block), hn::SetTableIndices(d, kHalves));
  } else {
    return hn::Set(d, scales[2 * block + lane / 8]);
  }
}

// out[g] = a[g] * b[g]. Whole vectors: up to kLanes - 1 values behind the last one are read and written.
HWY_INLINE void multiply_scales(const float* a, const float* b, std::size_t groups, float* out) {
  const Tag d;
  for (std::size_t g = 0; g < groups; g += kWidth)
    hn::Store(hn::Mul(hn::Load(d, a + g), hn::LoadU(d, b + g)), d, out + g);
}
// lanes[g mod kMinimumLanes] += a[g] * b[g]
HWY_INLINE void add_minima(const float* a, const float* b, std::size_t groups, float* lanes) {
  const hn::CappedTag<float, kMinimumLanes> d;
  std::size_t g = 0;
  for (; g + kMinimumLanes <= groups; g += kMinimumLanes)
    for (std::size_t l = 0; l < kMinimumLanes; l += hn::MaxLanes(d))
      hn::Store(hn::MulAdd(hn::Load(d, a + g + l), hn::LoadU(d, b + g + l), hn::Load(d, lanes + l)), d, lanes + l);
  for (std::size_t l = 0; g + l < groups; ++l) {
    const hn::CappedTag<float, 1> one;
    hn::Store(hn::MulAdd(hn::LoadU(one, a + g + l), hn::LoadU(one, b + g + l), hn::LoadU(one, lanes + l)), one,
              lanes + l);
  }
}
HWY_INLINE float total(const float* lanes, const float* minima) {
  return sum_lanes(lanes) -
         (((minima[0] + minima[4]) + (minima[2] + minima[6])) + ((minima[1] + minima[5]) + (minima[3] + minima[7])));
}

template <class F>
HWY_INLINE float dot(const std::uint8_t* row, const RoundedColumns& x) {
  constexpr auto kValues = static_cast<std::size_t>(F::kInfo.values), kBytes = static_cast<std::size_t>(F::kInfo.bytes);
  constexpr std::size_t kGroup = Unpack<F>::kGroup;
  const Tag d;
  Scales weights;
  alignas(64) float scales[kMaxGroups + kLanes];
  alignas(64) float minima[kMinimumLanes] = {};
  alignas(64) std::int8_t codes[kValues];
  V sums[kLanes / kWidth];
  for (V& sum : sums) sum = hn::Zero(d);
  for (std::size_t c = 0; c < x.cols(); c += kChunk) {
    const std::size_t count = std::min(kChunk, x.cols() - c), groups = count / kGroup;
    unpack_scales<F>(row, count, weights);
    multiply_scales(weights.scale, x.scales<kGroup>(0) + c / kGroup, groups, scales);
    if constexpr (kHasMinimum<F>) add_minima(weights.minimum, x.sums<kGroup>(0) + c / kGroup, groups, minima);
    for (std::size_t i = 0; i < count; i += kValues, row += kBytes) {
      for (std::size_t b = 0; b < kBytes; b += 64) __builtin_prefetch(row + kAhead + b);
      Unpack<F>::codes(row, codes);
      const std::int16_t* q = x.q(0) + c + i;
      for (std::size_t k = 0; k < kValues; k += kBlock)
        for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
          const auto pairs = pair_sums(hn::PromoteTo(Halves(), hn::LoadU(Codes(), codes + k + 2 * lane)),
                                       hn::LoadU(Halves(), q + k + 2 * lane));
          V& sum = sums[lane / kWidth];
          sum = hn::MulAdd(lane_scales<kGroup>(scales, (i + k) / kBlock, lane), pairs, sum);
        }
    }
  }
  alignas(64) float lanes[kLanes];
  for (std::size_t lane = 0; lane < kLanes; lane += kWidth) hn::Store(sums[lane / kWidth], d, lanes + lane);
  return total(lanes, minima);
}

struct Band {
  alignas(64) std::int16_t codes[kBandRows][kChunk];
  Scales weights[kBandRows];
  alignas(64) float sums[kBandRows][kBandColumns][kLanes];
  alignas(64) float minima[kBandRows][kBandColumns][kMinimumLanes];
};

// A chunk of `count` values from `c` on: R rows of the band against C columns from j on, of which the first is column
// `at` of the band.
template <std::size_t kGroup, bool kMinimum, std::size_t R, std::size_t C>
HWY_INLINE void tile(Band& band, std::size_t row, const RoundedColumns& x, std::size_t j, std::size_t at, std::size_t c,
                     std::size_t count) {
  const Tag d;
  const std::size_t groups = count / kGroup;
  alignas(64) float scales[R][C][kMaxGroups + kLanes];
  for (std::size_t r = 0; r < R; ++r)
    for (std::size_t k = 0; k < C; ++k) {
      const Scales& w = band.weights[row + r];
      multiply_scales(w.scale, x.scales<kGroup>(j + k) + c / kGroup, groups, scales[r][k]);
      if constexpr (kMinimum)
        add_minima(w.minimum, x.sums<kGroup>(j + k) + c / kGroup, groups, band.minima[row + r][at + k]);
    }
  for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
    V sums[R][C];
    for (std::size_t r = 0; r < R; ++r)
      for (std::size_t k = 0; k < C; ++k) sums[r][k] = hn::Load(d, band.sums[row + r][at + k] + lane);
    for (std::size_t b = 0; b < count / kBlock; ++b) {
      hn::Vec<Halves> w[R];
      for (std::size_t r = 0; r < R; ++r) w[r] = hn::LoadU(Halves(), band.codes[row + r] + b * kBlock + 2 * lane);
      for (std::size_t k = 0; k < C; ++k) {
        const auto q = hn::LoadU(Halves(), x.q(j + k) + c + b * kBlock + 2 * lane);
        for (std::size_t r = 0; r < R; ++r)
          sums[r][k] = hn::MulAdd(lane_scales<kGroup>(scales[r][k], b, lane), pair_sums(w[r], q), sums[r][k]);
      }
    }
    for (std::size_t r = 0; r < R; ++r)
      for (std::size_t k = 0; k < C; ++k) hn::Store(sums[r][k], d, band.sums[row + r][at + k] + lane);
  }
}

template <std::size_t kGroup, bool kMinimum, std::size_t R>
HWY_INLINE void tiles(Band& band, std::size_t row, const RoundedColumns& x, std::size_t j, std::size_t width,
                      std::size_t c, std::size_t count) {
  std::size_t k = 0;
  for (; k + kTileColumns <= width; k += kTileColumns)
    tile<kGroup, kMinimum, R, kTileColumns>(band, row, x, j + k, k, c, count);
  for (; k < width; ++k) tile<kGroup, kMinimum, R, 1>(band, row, x, j + k, k, c, count);
}

template <std::size_t kGroup, bool kMinimum>
HWY_NOINLINE void multiply_chunk(Band& band, std::size_t height, const RoundedColumns& x, std::size_t j,
                                 std::size_t width, std::size_t c, std::size_t count) {
  if (height == kBandRows) return tiles<kGroup, kMinimum, kBandRows>(band, 0, x, j, width, c, count);
  for (std::size_t r = 0; r < height; ++r) tiles<kGroup, kMinimum, 1>(band, r, x, j, width, c, count);
}

template <class F>
HWY_INLINE void unpack_codes(const std::uint8_t* row, std::size_t count, std::int16_t* out) {
  constexpr auto kValues = static_cast<std::size_t>(F::kInfo.values);
  alignas(64) std::int8_t codes[kValues];
  for (std::size_t i = 0; i < count; i += kValues, row += F::kInfo.bytes) {
    Unpack<F>::codes(row, codes);
    for (std::size_t k = 0; k < kValues; k += hn::MaxLanes(Halves()))
      hn::StoreU(hn::PromoteTo(Halves(), hn::LoadU(Codes(), codes + k)), Halves(), out + i + k);
  }
}

template <class F>
void multiply(const std::uint8_t* weights, std::size_t rows, const RoundedColumns& x, float* y, std::size_t y_stride) {
  constexpr auto kValues = static_cast<std::size_t>(F::kInfo.values), kBytes = static_cast<std::size_t>(F::kInfo.bytes);
  static_assert(kChunk % kValues == 0 && kValues % kBlock == 0);
  const std::size_t row_bytes = x.cols() / kValues * kBytes;
  if (x.n() == 1) {
    for (std::size_t r = 0; r < rows; ++r) y[r] = dot<F>(weights + r * row_bytes, x);
    return;
  }
  Band band;
  for (std::size_t r = 0; r < rows; r += kBandRows)
    for (std::size_t j = 0; j < x.n(); j += kBandColumns) {
      const std::size_t height = std::min(kBandRows, rows - r), width = std::min(kBandColumns, x.n() - j);
      std::memset(band.sums, 0, sizeof band.sums);
      std::memset(band.minima, 0, sizeof band.minima);
      for (std::size_t c = 0; c < x.cols(); c += kChunk) {
        const std::size_t count = std::min(kChunk, x.cols() - c);
        for (std::size_t i = 0; i < height; ++i) {
          const std::uint8_t* row = weights + (r + i) * row_bytes + c / kValues * kBytes;
          unpack_scales<F>(row, count, band.weights[i]);
          unpack_codes<F>(row, count, band.codes[i]);
        }
        multiply_chunk<Unpack<F>::kGroup, kHasMinimum<F>>(band, height, x, j, width, c, count);
      }
      for (std::size_t i = 0; i < height; ++i)
        for (std::size_t k = 0; k < width; ++k)
          y[(j + k) * y_stride + r + i] = total(band.sums[i][k], band.minima[i][k]);
    }
}

template <class F>
constexpr MatVecI16* form_of() {
  if constexpr (Unpacks<F>)
    return multiply<F>;
  else
    return nullptr;
}
template <class... F>
MatVecI16* of(FormatList<F...>, std::size_t index) {
  static constexpr MatVecI16* table[] = {form_of<F>()...};
  return table[index];
}
MatVecI16* matvec_i16_form(std::size_t index) { return of(WeightFormats{}, index); }

void round_column(const float* x, std::size_t cols, std::int16_t* q, float* scales32, float* sums32, float* scales16,
                  float* sums16) {
  const Tag d;
  const hn::Rebind<std::int16_t, Tag> halves;
  for (std::size_t b = 0; b < cols / kBlock; ++b, x += kBlock, q += kBlock) {
    V largest = hn::Zero(d), spoiled = hn::Zero(d);  // 0 * x is NaN where x is not finite
    for (std::size_t i = 0; i < kBlock; i += kWidth) {
      const V v = hn::LoadU(d, x + i);
      largest = hn::Max(largest, hn::Abs(v));
      spoiled = hn::Add(spoiled, hn::Mul(hn::Zero(d), v));
    }
    const float m = hn::GetLane(hn::MaxOfLanes(d, largest));
    const bool finite = hn::GetLane(hn::SumOfLanes(d, spoiled)) == 0;
    const bool rounds = finite && m >= kSmallestBlock;
    const float scale = rounds ? m / 32767 : finite ? 0 : std::numeric_limits<float>::quiet_NaN();
    const V inverse = hn::Set(d, rounds ? 32767 / m : 0);
    float sums[2];
    for (std::size_t half = 0; half < 2; ++half) {
      V sum = hn::Zero(d);  // of integers below 2^20: exact in any order
      for (std::size_t i = 0; i < kBlock / 2; i += kWidth) {
        const V v = rounds ? hn::LoadU(d, x + half * 16 + i) : hn::Zero(d);
        const auto whole = hn::NearestInt(hn::Mul(v, inverse));
        sum = hn::Add(sum, hn::ConvertTo(d, whole));
        hn::StoreU(hn::DemoteTo(halves, whole), halves, q + half * 16 + i);
      }
      sums[half] = hn::GetLane(hn::SumOfLanes(d, sum));
      scales16[2 * b + half] = scale;
      sums16[2 * b + half] = scale * sums[half];
    }
    scales32[b] = scale;
    sums32[b] = scale * (sums[0] + sums[1]);
  }
}

}  // namespace krt::quant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace krt::quant {
const std::vector<Variant<MatVecI16>>& matvec_i16_variants(std::size_t index) {
  static const auto lists = variants_by_format<MatVecI16>(KRT_SIMD_FORMS(matvec_i16_form), matvec_i16_plain);
  return lists[index];
}

const std::vector<Variant<RoundColumn>>& round_column_variants() {
  static const auto list = simd_variants<RoundColumn>(KRT_SIMD_FORMS(round_column), round_column_plain);
  return list;
}

}  // namespace krt::quant
#endif
