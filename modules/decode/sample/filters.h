#pragma once
// The filters, in the order and by the rules of transformers' logits warpers (transformers 5.24, generation/
// logits_process.py; the order is that of its _get_logits_processor): temperature, top-h, top-k, top-p, min-p, typical,
// epsilon, eta. Each renormalises over what the one before it left.
//
// Its f32 arithmetic is done in f64 here, so that a token that stands near a bound is judged by the exact value and not
// by the rounding of a sum over the vocabulary. Two sums are rounded to f32 before they are compared, so that round
// cases come out as they do there (two tokens of .1 behind the nucleus of .8; .3 of the entropy of ten equal tokens):
// the nucleus ends where the probabilities behind it, themselves rounded to f32, come to f32(1 - p) or less, and top-h
// ends before the entropy of its best tokens exceeds f32(alpha H). `keep` is min_tokens_to_keep.

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
