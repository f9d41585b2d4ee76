#pragma once
// llm_sampling: the scalar formulas of token selection, one f64 at a time. Names are Algenta's; where a name leaves the
// formula open, it is the one of transformers' logits processors.
//
// Bits     every operation is one IEEE operation in the order written; pow_approx and length_penalty have the bits of
//          the C library's pow (within an ulp), which may differ from machine to machine
// Range    no argument is refused: what IEEE arithmetic gives (x / 0, NaN) is the answer

#include <cmath>

namespace krt::llm_sampling {

// current_id where current_logit == max_logit, else -1 (a NaN equals nothing).
inline double greedy_token_id(double max_logit, double current_logit, double current_id) {
  return current_logit == max_logit ? current_id : -1.0;
}

inline double temperature_scale(double logit, double temperature) { return logit / temperature; }

// A token that appeared (any number but 0) is made less likely by a penalty above 1, whatever the sign of its logit.
inline double repetition_penalty_scale(double logit, double penalty, double token_appeared) {
  if (token_appeared == 0) return logit;
  return logit < 0 ? logit * penalty : logit / penalty;
}

// frequency_penalty once for each time the token appeared, presence_penalty once if it did.
inline double token_frequency_penalty(double logit, double token_count, double frequency_penalty,
                                      double presence_penalty) {
  return logit - token_count * frequency_penalty - (token_count > 0 ? presence_penalty : 0.0);
}

// Logits below it are dropped by top-k.
inline double top_k_threshold(double k_th_logit) { return k_th_logit; }

// One step over probabilities sorted descending: the mass kept after this token. It is kept while the mass before it
// is below p, so that the nucleus is the smallest set that reaches p.
inline double top_p_cumulative(double sorted_prob, double cumulative_so_far, double p) {
  return cumulative_so_far < p ? cumulative_so_far + sorted_prob : cumulative_so_far;
}

// Probabilities below it are dropped by min-p.
inline double min_p_threshold(double max_prob, double min_p) { return max_prob * min_p; }

// How far the token's surprise is from the expected one: typical sampling keeps the smallest.
inline double typical_p_score(double token_log_prob, double entropy) { return std::fabs(-token_log_prob - entropy); }

inline double beam_score_update(double current_score, double next_log_prob) { return current_score + next_log_prob; }

inline double pow_approx(double base, double exponent) { return std::pow(base, exponent); }

// log_prob_sum / length^alpha
inline double length_penalty(double log_prob_sum, double length, double alpha) {
  return log_prob_sum / pow_approx(length, alpha);
}

}  // namespace krt::llm_sampling
