// The passes of row.h in Highway, compiled once per instruction set.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/decode/sample/row_simd.cc"
#include <algorithm>
#include <numeric>

#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"
#include "modules/decode/sample/row.h"

HWY_BEFORE_NAMESPACE();
namespace krt::decode::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using F64 = hn::ScalableTag<double>;
using HalfF32 = hn::Rebind<float, F64>;  // as many floats as a vector holds doubles

RowScan scan(const float* HWY_RESTRICT logits, std::size_t n, float* HWY_RESTRICT block_max) {
  const F32 d;
  constexpr std::size_t kStep = hn::MaxLanes(d);
  auto min = hn::Set(d, logits[0]);
  auto nan = hn::IsNaN(hn::Zero(d));
  std::size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    auto best = hn::LoadU(d, logits + i);
    for (std::size_t k = 0; k < kBlock; k += kStep) {
      const auto x = hn::LoadU(d, logits + i + k);
      nan = hn::Or(nan, hn::IsNaN(x));
      min = hn::Min(min, x);
      best = hn::Max(best, x);
    }
    *block_max++ = hn::GetLane(hn::MaxOfLanes(d, best));
  }
  RowScan row{!hn::AllFalse(d, nan), hn::GetLane(hn::MinOfLanes(d, min))};
  if (i == n) return row;
  float best = logits[i];
  for (; i < n; ++i) {
    row.nan |= logits[i] != logits[i];
    row.min = std::min(row.min, logits[i]);
    best = std::max(best, logits[i]);
  }
  *block_max = best;
  return row;
}

// weight_of() of row.h, lane by lane; `x` is the difference, not below kLowest.
template <class V>
V exp_of(V x) {
  const F64 d;
  const auto round = hn::Set(d, kRound);
  const auto shifted = hn::Add(hn::Mul(x, hn::Set(d, kLog2E)), round);
  const auto r = hn::Sub(x, hn::Mul(hn::Sub(shifted, round), hn::Set(d, kLn2)));
  auto p = hn::Set(d, kExpTerms[0]);
  for (std::size_t k = 1; k < std::size(kExpTerms); ++k) p = hn::Add(hn::Mul(p, r), hn::Set(d, kExpTerms[k]));
  const hn::RebindToUnsigned<F64> bits;
  return hn::BitCast(d, hn::Add(hn::BitCast(bits, p), hn::ShiftLeft<52>(hn::BitCast(bits, shifted))));
}

template <class V>
auto difference_of(V score, V max) {
  const F64 d;
  return hn::Max(hn::Sub(hn::PromoteTo(d, score), hn::PromoteTo(d, max)), hn::Set(d, kLowest));
}

template <bool kMoment>
double sum(const float* HWY_RESTRICT logits, std::size_t n, float temperature, float max) {
  const F64 d;
  const HalfF32 half;
  constexpr std::size_t kStep = hn::MaxLanes(d);
  constexpr std::size_t kParts = kLanes / kStep;
  const auto t = hn::Set(half, temperature);
  const auto top = hn::Set(half, max);
  hn::Vec<F64> part[kParts];
  for (auto& p : part) p = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t k = 0; k < kParts; ++k) {
      const auto x = difference_of(hn::Div(hn::LoadU(half, logits + i + k * kStep), t), top);
      const auto w = exp_of(x);
      part[k] = hn::Add(part[k], kMoment ? hn::Mul(w, x) : w);
    }
  }
  double lanes[kLanes];
  for (std::size_t k = 0; k < kParts; ++k) hn::StoreU(part[k], d, lanes + k * kStep);
  for (std::size_t lane = 0; i < n; ++i, ++lane) {
    const float score = scaled(logits[i], temperature);
    lanes[lane] += weight_of(score, max) * (kMoment ? difference(score, max) : 1);
  }
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}

// Positions and logits of those >= at_least.
std::size_t compress(const float* HWY_RESTRICT logits, std::size_t n, const float* HWY_RESTRICT block_max,
                     float at_least, Hits& hits) {
  const F32 d;
  const hn::RebindToUnsigned<F32> u;
  constexpr std::size_t kStep = hn::MaxLanes(d);
  const auto bound = hn::Set(d, at_least);
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    if (!(*block_max++ >= at_least)) continue;
    const std::size_t end = std::min(begin + kBlock, n);
    std::size_t i = begin;
    for (; i + kStep <= end; i += kStep) {
      const auto x = hn::LoadU(d, logits + i);
      const auto in = hn::Ge(x, bound);
      const auto position = hn::Iota(u, static_cast<std::uint32_t>(i));
      hn::StoreU(hn::Compress(x, in), d, hits.score + count);
      hn::StoreU(hn::Compress(position, hn::RebindMask(u, in)), u, hits.position + count);
      count += hn::CountTrue(d, in);
    }
    for (; i < end; ++i) {
      hits.score[count] = logits[i];
      hits.position[count] = static_cast<std::uint32_t>(i);
      count += logits[i] >= at_least ? 1 : 0;
    }
  }
  return count;
}

std::size_t collect(const float* HWY_RESTRICT logits, std::size_t n, const float* HWY_RESTRICT block_max,
                    float at_least, float temperature, float max, Hits& hits) {
  const F64 d;
  const HalfF32 half;
  const auto t = hn::Set(half, temperature);
  const auto top = hn::Set(half, max);
  const std::size_t count = compress(logits, n, block_max, at_least, hits);
  hn::StoreU(top, half, hits.score + count);  // the last vector may reach beyond what was found
  for (std::size_t i = 0; i < count; i += hn::MaxLanes(d)) {
    const auto score = hn::Div(hn::LoadU(half, hits.score + i), t);
    hn::StoreU(score, half, hits.score + i);
    hn::StoreU(exp_of(difference_of(score, top)), d, hits.weight + i);
  }
  return count;
}

const RowPasses& passes() {
  static constexpr RowPasses kPasses{scan, sum<false>, sum<true>, collect};
  return kPasses;
}

}  // namespace

const RowPasses& row_passes() { return passes(); }

}  // namespace krt::decode::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace krt::decode {

const std::vector<Variant<RowForm>>& row_variants() {
  static const auto list = simd_variants<RowForm>(KRT_SIMD_FORMS(row_passes), scalar_passes);
  return list;
}

}  // namespace krt::decode
#endif
