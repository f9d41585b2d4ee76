#pragma once
// llm_sampling: the scalar formulas of token selection, one f64 at a time. Names are Algenta's.
//
// Bits     every operation is one IEEE operation in the order written

namespace krt::llm_sampling {

// current_id where current_logit == max_logit, else -1 (a NaN equals nothing).
inline double greedy_token_id(double max_logit, double current_logit, double current_id) {
  return current_logit == max_logit ? current_id : -1.0;
}

}  // namespace krt::llm_sampling
