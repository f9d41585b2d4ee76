#pragma once
// mlpk.embedding: the rows of a table by token id, in f64, and the gradient of that.
//
//   y[t] = weight[ids[t]]        d_weight[v] = sum of dy[t] over the tokens t with ids[t] = v, in the order of t
//
// Shapes   weight, d_weight: f64[vocab, d_model] row-major; ids: i64[n_tok]; y, dy: f64[n_tok, d_model]; exact lengths;
//          n_tok * d_model and vocab * d_model at most 2^28
// Bits     copies; sums start at +0.0: the same for every thread count
// Error    |d_weight - exact| <= (times the id occurs) 2^-53 sum|dy|
// Threads  from kParallelMinCells values on: the tokens, for the gradient the columns, are shared out
// Status   390; else 391, 394, 396 (weight), 397 (dy), 393 (ids), 398 (an id outside [0, vocab)), with lists empty and
//          numbers 0

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/context.h"

namespace krt::mlpk {

struct EmbedOut {
  std::vector<double> y;
  std::int64_t n_tok;
  std::int64_t d_model;
  std::int64_t status;
  static constexpr std::array kFields{"y", "n_tok", "d_model", "status"};
};
EmbedOut embedding_fwd_flat(Context& context, std::span<const double> weight, std::span<const std::int64_t> ids,
                            std::int64_t n_tok, std::int64_t vocab, std::int64_t d_model);

struct EmbedGrad {
  std::vector<double> d_weight;
  std::int64_t n_touched;  // how many different ids there are
  std::int64_t vocab;
  std::int64_t d_model;
  std::int64_t status;
  static constexpr std::array kFields{"d_weight", "n_touched", "vocab", "d_model", "status"};
};
EmbedGrad embedding_bwd_flat(Context& context, std::span<const double> dy, std::span<const std::int64_t> ids,
                             std::int64_t n_tok, std::int64_t vocab, std::int64_t d_model);

// There are exactly n_tok ids (1 or more), each in [0, vocab).
bool embedding_ids_in_range(std::span<const std::int64_t> ids, std::int64_t n_tok, std::int64_t vocab);

}  // namespace krt::mlpk
