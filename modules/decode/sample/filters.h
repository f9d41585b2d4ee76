#pragma once
// The filters, in the order and by the rules of transformers' logits warpers (transformers 5.24, generation/
// logits_process.py; the order is that of its _get_logits_processor): temperature, top-h, top-k, top-p, min-p, typical,
// epsilon, eta. Each renormalises over what the one before it left.
//
// Where transformers compares f32 probabilities with a bound, both sides are rounded to f32 here too before they are
// compared; what they are computed from is f64, and so is all of typical's and top-h's arithmetic, whose f32 keys would
// be mostly noise on flat rows. `keep` is min_tokens_to_keep.

#include <cstdint>

#include "modules/decode/sample/selection.h"

namespace krt::decode {

enum class Ties : std::uint8_t { kKeep, kCut };  // at the k-th value: all survive (transformers), or exactly k

void top_h(Selection& s, double alpha);
void top_k(Selection& s, std::size_t k, Ties ties);
void top_p(Selection& s, double p, std::size_t keep);
void min_p(Selection& s, double p, std::size_t keep);
void typical_p(Selection& s, double mass, std::size_t keep);
void epsilon_cutoff(Selection& s, double epsilon, std::size_t keep);
void eta_cutoff(Selection& s, double epsilon, std::size_t keep);

}  // namespace krt::decode
