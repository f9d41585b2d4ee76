#pragma once
// decode.survivors, decode.sample: from one row of logits to the tokens that may be drawn, and to the drawn one.
//
//   penalties   for every distinct id of history, c times in it: s < 0 ? s * repetition : s / repetition, in f32
//               (transformers; Keskar et al. 2019), then s - (frequency * c + presence), in f64, rounded once to f32
//   temperature s / T, a true division in f32. T = 0: the first largest score alone is in
//   filters     top_h, top_k, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff: filters.h has the rules, which are
//               those of transformers, and their order
//   probability of a survivor: exp(s - max) over the sum of these, in f64
//   draw        survivors in descending order of s, ties to the lower id; the first j with u < p[0] + ... + p[j],
//               else the last. u is given, or is uniform_draw(seed, sequence, position) of philox.h
//
// Shapes   logits: f32[V], 1 <= V <= 2^24; history: ids of the vocabulary, any number, may repeat
// Options  in SampleOptions, with the ranges below; a default leaves its filter out
// Ties     at the k-th value all survive, as in transformers, or with exact_top_k the lower ids; at the edge of the
//          nucleus the lower ids
// Bits     ids, n and token are the same for every variant and thread count; a probability is within 2^-36 of exp in
//          exact arithmetic, relative, and the same on every machine (top_h, typical_p and eta_cutoff ask the C
//          library for logarithms, whose last bit may move a token that stands on the very bound)
// Rows     one row a call: no other row, sequence or earlier call influences a token
// Status   600; else 601 (no logits), 602 (V > 2^24), 612 (an option or u outside its range), 613 (an id of history
//          outside the vocabulary), 614 (NaN), 615 (+infinity, also after penalties and temperature), 616 (every score
//          is -infinity), 617 (sample: T > 0, and neither or both of u and seed). Lists are empty then, token_id -1,
//          other numbers 0

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "modules/decode/sample/selection.h"
#include "runtime/exec/context.h"

namespace krt::decode {

struct SampleOptions {
  double temperature = 1;               // 0, or positive and finite in f32
  std::int64_t top_k = 0;               // >= 0; 0 is off; more than V is V
  double top_p = 1;                     // [0, 1]; 1 is off; 0 keeps min_tokens_to_keep
  double min_p = 0;                     // [0, 1]; 0 is off
  double typical_p = 1;                 // (0, 1]; 1 is off
  double epsilon_cutoff = 0;            // [0, 1); 0 is off
  double eta_cutoff = 0;                // [0, 1); 0 is off
  double top_h = 0;                     // [0, 1]; 0 is off
  std::int64_t min_tokens_to_keep = 1;  // >= 1
  double repetition_penalty = 1;        // positive and finite in f32; 1 is off
  double presence_penalty = 0;          // finite; 0 is off
  double frequency_penalty = 0;         // finite; 0 is off
  bool exact_top_k = false;
};

struct SurvivorsResult {
  std::vector<std::int64_t> ids;
  std::vector<double> probs;
  std::int64_t n;
  std::int64_t status;
  static constexpr std::array kFields{"ids", "probs", "n", "status"};
};

struct SampleResult {
  std::int64_t token_id;
  double prob;
  std::int64_t n_survivors;
  double u;  // the draw that was used; 0 where T is 0
  std::int64_t status;
  static constexpr std::array kFields{"token_id", "prob", "n_survivors", "u", "status"};
};

// One of u and seed.
struct Draw {
  std::optional<double> u = {};
  std::optional<std::int64_t> seed = {};
  std::int64_t sequence = 0;
  std::int64_t position = 0;
};

// What a C++ caller uses: the passes that serve here (row_variants), and memory that is kept between calls.
SurvivorsResult survivors(const RowPasses& passes, std::span<const float> logits, const SampleOptions& options,
                          std::span<const std::int64_t> history, SampleWorkspace& workspace);
SampleResult sample(const RowPasses& passes, std::span<const float> logits, const SampleOptions& options,
                    std::span<const std::int64_t> history, const Draw& draw, SampleWorkspace& workspace);

}  // namespace krt::decode
