// The passes of row.h in Highway, compiled once per instruction set.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/decode/sample/row_simd.cc"
#include <algorithm>
#include <limits>

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

bool scan(const float* HWY_RESTRICT logits, std::size_t n, float* HWY_RESTRICT block_max) {
  const F32 d;
  constexpr std::size_t kStep = hn::MaxLanes(d);
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto nan = hn::IsNaN(lowest);
  std::size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    auto best = lowest;
    for (std::size_t k = 0; k < kBlock; k += kStep) {
      const auto x = hn::LoadU(d, logits + i + k);
      nan = hn::Or(nan, hn::IsNaN(x));
      best = hn::Max(best, x);
    }
    *block_max++ = hn::GetLane(hn::MaxOfLanes(d, best));
  }
  bool any_nan = !hn::AllFalse(d, nan);
  if (i == n) return any_nan;
  float best = -std::numeric_limits<float>::infinity();
  for (; i < n; ++i) {
    any_nan |= logits[i] != logits[i];
    best = std::max(best, logits[i]);
  }
  *block_max = best;
  return any_nan;
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
auto difference(V score, V max) {
  const HalfF32 d;
  return hn::PromoteTo(F64(), hn::Max(hn::Sub(score, max), hn::Set(d, kLowest)));
}

ExpSums exp_sums(const float* HWY_RESTRICT logits, std::size_t n, float temperature, float max) {
  const F64 d;
  const HalfF32 half;
  constexpr std::size_t kStep = hn::MaxLanes(d);
  constexpr std::size_t kParts = kLanes / kStep;
  const auto t = hn::Set(half, temperature);
  const auto top = hn::Set(half, max);
  hn::Vec<F64> weight[kParts], moment[kParts];
  for (std::size_t k = 0; k < kParts; ++k) weight[k] = moment[k] = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t k = 0; k < kParts; ++k) {
      const auto x = difference(hn::Div(hn::LoadU(half, logits + i + k * kStep), t), top);
      const auto w = exp_of(x);
      weight[k] = hn::Add(weight[k], w);
      moment[k] = hn::Add(moment[k], hn::Mul(w, x));
    }
  }
  alignas(64) double w[kLanes], m[kLanes];
  for (std::size_t k = 0; k < kParts; ++k) {
    hn::StoreU(weight[k], d, w + k * kStep);
    hn::StoreU(moment[k], d, m + k * kStep);
  }
  for (std::size_t lane = 0; i < n; ++i, ++lane) {
    const float score = scaled(logits[i], temperature);
    const double e = weight_of(score, max);
    w[lane] += e;
    m[lane] += e * std::max(score - max, kLowest);
  }
  ExpSums sums{0, 0};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sums.weight += w[lane];
    sums.moment += m[lane];
  }
  return sums;
}

std::size_t collect(const float* HWY_RESTRICT logits, std::size_t n, const float* HWY_RESTRICT block_max,
                    float temperature, float max, float at_least, Hits& hits) {
  const F32 d;
  const hn::RebindToUnsigned<F32> u;
  constexpr std::size_t kStep = hn::MaxLanes(d);
  const auto t = hn::Set(d, temperature);
  const auto bound = hn::Set(d, at_least);
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    if (!(*block_max++ >= at_least)) continue;
    const std::size_t end = std::min(begin + kBlock, n);
    std::size_t i = begin;
    for (; i + kStep <= end; i += kStep) {
      const auto score = hn::Div(hn::LoadU(d, logits + i), t);
      const auto in = hn::Ge(score, bound);
      if (hn::AllFalse(d, in)) continue;
      hn::CompressStore(hn::Iota(u, static_cast<std::uint32_t>(i)), hn::RebindMask(u, in), u, hits.position + count);
      count += hn::CompressStore(score, in, d, hits.score + count);
    }
    for (; i < end; ++i) {
      const float score = scaled(logits[i], temperature);
      if (!(score >= at_least)) continue;
      hits.position[count] = static_cast<std::uint32_t>(i);
      hits.score[count++] = score;
    }
  }
  const F64 wide;
  const HalfF32 half;
  const auto top = hn::Set(half, max);
  hn::StoreU(top, half, hits.score + count);  // the last vector may reach beyond what was found
  for (std::size_t i = 0; i < count; i += hn::MaxLanes(wide))
    hn::StoreU(exp_of(difference(hn::LoadU(half, hits.score + i), top)), wide, hits.weight + i);
  return count;
}

const RowPasses& passes() {
  static constexpr RowPasses kPasses{scan, exp_sums, collect};
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
