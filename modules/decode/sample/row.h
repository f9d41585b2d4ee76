#pragma once
// The passes over a whole row of logits, which are what sampling over a large vocabulary costs: the maxima, the
// softmax sums, and the few values that can still matter. Everything after them looks at those few.
//
// Every form (row_ref.cc; row_simd.cc for each instruction set) gives the same bits: a weight is a fixed chain of
// IEEE operations without fused multiply-adds, and sums run in kLanes interleaved partial sums whatever the width of
// a vector. So the survivors, the probabilities and the tokens do not depend on the machine.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/dispatch/variant.h"

namespace krt::decode {

inline constexpr std::size_t kBlock = 64;    // values behind one block maximum
inline constexpr std::size_t kLanes = 16;    // partial sums: value i goes to sum i % kLanes
inline constexpr std::size_t kChunk = 1024;  // values that one call of `collect` looks at; a multiple of kBlock
inline constexpr std::size_t kSlack = 16;    // values behind the end that a vector store may touch

// HF: scores / temperature, a true division in f32.
inline float scaled(float logit, float temperature) { return logit / temperature; }

// exp(score - max): the difference in f32 as softmax forms it, the exponential in f64, relative error <= 2^-41.
// exp(0) is 1 exactly. Below -708 the weight is that of -708 (3.3e-308), so that no subnormal appears.
inline constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;
inline constexpr double kRound = 0x1.8p52;  // x + kRound holds round(x) in its low mantissa bits
inline constexpr float kLowest = -708.0F;
// 1 / k!, k = 10 to 0: the first term left out is 2.2e-13 at ln(2) / 2.
inline constexpr double kExpTerms[] = {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                       1.0 / 24,      1.0 / 6,      0.5,         1.0,        1.0};

inline double weight_of(float score, float max) {
  const float difference = score - max;
  const double x = difference > kLowest ? difference : kLowest;
  const double shifted = x * kLog2E + kRound;
  const double r = x - (shifted - kRound) * kLn2;
  double p = kExpTerms[0];
  for (std::size_t k = 1; k < std::size(kExpTerms); ++k) p = p * r + kExpTerms[k];
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + (std::bit_cast<std::uint64_t>(shifted) << 52U));
}

struct ExpSums {
  double weight;  // of exp(d), d = score - max
  double moment;  // of exp(d) * d: the entropy is ln(weight) - moment / weight
};

// What `collect` found, in the order of the row. Positions count from the start of the chunk.
struct Hits {
  float score[kChunk + kSlack];
  std::uint32_t position[kChunk + kSlack];
  double weight[kChunk + kSlack];
};

struct RowPasses {
  // block_max[b] = the largest logit of block b. Answers whether the row holds a NaN; the maxima mean nothing then.
  bool (*scan)(const float* logits, std::size_t n, float* block_max);
  // Over every score, with the partial sums added up in the order of the lanes.
  ExpSums (*exp_sums)(const float* logits, std::size_t n, float temperature, float max);
  // The scores >= at_least of one chunk (n <= kChunk) with their weights; how many. Blocks whose maximum (here of the
  // scores, not the logits) is lower are skipped.
  std::size_t (*collect)(const float* logits, std::size_t n, const float* block_max, float temperature, float max,
                         float at_least, Hits& hits);
};

using RowForm = const RowPasses&();
RowForm scalar_passes;
const std::vector<Variant<RowForm>>& row_variants();

}  // namespace krt::decode
