#include <algorithm>
#include <cmath>
#include <numeric>

#include "modules/decode/sample/row.h"

namespace krt::decode {
namespace {

RowScan scan(const float* logits, std::size_t n, float* block_max) {
  RowScan row{false, logits[0]};
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    float best = logits[begin];
    for (std::size_t i = begin; i < std::min(n, begin + kBlock); ++i) {
      row.nan |= std::isnan(logits[i]);
      row.min = std::min(row.min, logits[i]);
      best = std::max(best, logits[i]);
    }
    *block_max++ = best;
  }
  return row;
}

template <bool kMoment>
double sum(const float* logits, std::size_t n, float temperature, float max) {
  double lanes[kLanes] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const float score = scaled(logits[i], temperature);
    lanes[i % kLanes] += weight_of(score, max) * (kMoment ? difference(score, max) : 1);
  }
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}

std::size_t collect(const float* logits, std::size_t n, const float* block_max, float at_least, float temperature,
                    float max, Hits& hits) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!(block_max[i / kBlock] >= at_least && logits[i] >= at_least)) continue;
    hits.position[count] = static_cast<std::uint32_t>(i);
    hits.score[count] = scaled(logits[i], temperature);
    hits.weight[count] = weight_of(hits.score[count], max);
    ++count;
  }
  return count;
}

}  // namespace

const RowPasses& scalar_passes() {
  static constexpr RowPasses kPasses{scan, sum<false>, sum<true>, collect};
  return kPasses;
}

}  // namespace krt::decode
