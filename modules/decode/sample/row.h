#pragma once
// The passes over a whole row of logits, which are what sampling over a large vocabulary costs: the maxima, the
// softmax sums, and the few values that can still matter. Everything after them looks at those few.
//
// Every form (row_ref.cc; row_simd.cc for each instruction set) gives the same bits: a weight is a fixed chain of
// IEEE operations without fused multiply-adds, and sums run in kLanes interleaved partial sums whatever the width of
// a vector. So the survivors, the probabilities and the tokens do not depend on the machine.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "runtime/dispatch/variant.h"

namespace krt::decode {

inline constexpr std::size_t kBlock = 64;    // values behind one block maximum
inline constexpr std::size_t kLanes = 16;    // partial sums: value i goes to sum i % kLanes
inline constexpr std::size_t kChunk = 1024;  // values that one call of `collect` looks at; a multiple of kBlock
inline constexpr std::size_t kSlack = 16;    // values behind the end that a vector store may touch

// HF: scores / temperature, a true division in f32.
inline float scaled(float logit, float temperature) { return logit / temperature; }

// exp(score - max) of the two f32 scores in f64, relative error <= 2^-37. (The difference in f32, as softmax forms it,
// agreed less often with transformers, whose other roundings are of that size: a probability of 1e-5 less 2e-13 passed
// as one of 1e-5.) exp(0) is 1 exactly. Below -708 the weight is that of -708 (3.3e-308), so that no subnormal appears.
inline constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;
inline constexpr double kRound = 0x1.8p52;  // x + kRound holds round(x) in its low mantissa bits
inline constexpr double kLowest = -708;
// exp(r) = 1 + r (1 + r q(r)), |r| <= ln(2) / 2: q is the minimax polynomial of degree 6 of (exp(r) - 1 - r) / r^2
// (mpmath's chebyfit), highest power first. 4.3e-12 relative.
inline constexpr double kExpTerms[] = {0x1.a113135484bc6p-16,
                                       0x1.a15169e4acab6p-13,
                                       0x1.6c1685919ba47p-10,
                                       0x1.1110c63a4cf65p-7,
                                       0x1.5555555c85f9ep-5,
                                       0x1.555555675067dp-3,
                                       0.5,
                                       1.0,
                                       1.0};

inline double difference(float score, float max) {
  return std::max(static_cast<double>(score) - static_cast<double>(max), kLowest);
}

inline double weight_of(float score, float max) {
  const double x = difference(score, max);
  const double shifted = x * kLog2E + kRound;
  const double r = x - (shifted - kRound) * kLn2;
  double p = kExpTerms[0];
  for (std::size_t k = 1; k < std::size(kExpTerms); ++k) p = p * r + kExpTerms[k];
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + (std::bit_cast<std::uint64_t>(shifted) << 52U));
}

// What `collect` found, in the order of the row. Positions count from the start of the chunk.
struct Hits {
  float score[kChunk + kSlack];
  std::uint32_t position[kChunk + kSlack];
  double weight[kChunk + kSlack];
};

struct RowScan {
  bool nan;  // the maxima and the minimum mean nothing then
  float min;
};

struct RowPasses {
  // block_max[b] = the largest logit of block b.
  RowScan (*scan)(const float* logits, std::size_t n, float* block_max);
  // The sum of weight_of(score) over every score, and that of weight_of(score) * difference(score), for the entropy.
  // The partial sums are added up in the order of the lanes.
  double (*weight_sum)(const float* logits, std::size_t n, float temperature, float max);
  double (*moment_sum)(const float* logits, std::size_t n, float temperature, float max);
  // The logits >= at_least of one chunk (n <= kChunk), as scores with their weights; how many. Blocks whose maximum is
  // lower are not looked at.
  std::size_t (*collect)(const float* logits, std::size_t n, const float* block_max, float at_least, float temperature,
                         float max, Hits& hits);
};

using RowForm = const RowPasses&();
RowForm scalar_passes;
const std::vector<Variant<RowForm>>& row_variants();

}  // namespace krt::decode
