#include <algorithm>
#include <cmath>
#include <limits>

#include "modules/decode/sample/row.h"

namespace krt::decode {
namespace {

bool scan(const float* logits, std::size_t n, float* block_max) {
  bool nan = false;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    float best = -std::numeric_limits<float>::infinity();
    for (std::size_t i = begin; i < std::min(n, begin + kBlock); ++i) {
      nan |= std::isnan(logits[i]);
      best = std::max(best, logits[i]);
    }
    *block_max++ = best;
  }
  return nan;
}

ExpSums exp_sums(const float* logits, std::size_t n, float temperature, float max) {
  double weight[kLanes] = {};
  double moment[kLanes] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const float score = scaled(logits[i], temperature);
    const double w = weight_of(score, max);
    weight[i % kLanes] += w;
    moment[i % kLanes] += w * std::max(score - max, kLowest);
  }
  ExpSums sums{0, 0};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sums.weight += weight[lane];
    sums.moment += moment[lane];
  }
  return sums;
}

std::size_t collect(const float* logits, std::size_t n, const float* block_max, float temperature, float max,
                    float at_least, Hits& hits) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (block_max[i / kBlock] < at_least) continue;
    const float score = scaled(logits[i], temperature);
    if (!(score >= at_least)) continue;
    hits.score[count] = score;
    hits.position[count] = static_cast<std::uint32_t>(i);
    hits.weight[count++] = weight_of(score, max);
  }
  return count;
}

}  // namespace

const RowPasses& scalar_passes() {
  static constexpr RowPasses kPasses{scan, exp_sums, collect};
  return kPasses;
}

}  // namespace krt::decode
