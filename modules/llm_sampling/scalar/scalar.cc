#include "modules/llm_sampling/scalar/scalar.h"

#include "runtime/registry/module_builder.h"

namespace krt::llm_sampling {

void register_scalar(Registry& registry) {
  constexpr Capabilities kUsesLibm{.determinism = Determinism::kBitExactPerVariant};
  ModuleBuilder m(registry, "llm_sampling", "Scalar formulas of token selection");
  m.function<beam_score_update>(
       "beam_score_update", "current_score + next_log_prob",
       {{"current_score", "sum of the beam's log-probabilities"}, {"next_log_prob", "of the token that extends it"}})
      .example("[-1.5,-0.25]");
  m.function<greedy_token_id>("greedy_token_id", "The candidate's id where its logit is the maximum, else -1",
                              {{"max_logit", "the largest logit of the row"},
                               {"current_logit", "the candidate's logit"},
                               {"current_id", "the candidate's id"}})
      .example("[9.0,9.0,1.0]");
  m.function<length_penalty>("length_penalty", "log_prob_sum / length^alpha",
                             {{"log_prob_sum", "sum of the sequence's log-probabilities"},
                              {"length", "tokens of the sequence"},
                              {"alpha", "0 for none; above 0 favours longer sequences"}})
      .caps(kUsesLibm)
      .example("[-6.0,4.0,1.0]");
  m.function<min_p_threshold>(
       "min_p_threshold", "max_prob * min_p: probabilities below it are dropped",
       {{"max_prob", "the largest probability of the row"}, {"min_p", "share of it that a token needs, 0 to 1"}})
      .example("[0.5,0.1]");
  m.function<pow_approx>("pow_approx", "base^exponent within one ulp",
                         {{"base", "any number"}, {"exponent", "any number"}})
      .caps(kUsesLibm)
      .example("[2.0,0.5]");
  m.function<repetition_penalty_scale>("repetition_penalty_scale",
                                       "logit / penalty, or logit * penalty below zero, where the token appeared",
                                       {{"logit", "the token's logit"},
                                        {"penalty", "above 1 makes repetition less likely"},
                                        {"token_appeared", "0 if it did not, any other number if it did"}})
      .example("[2.0,1.25,1.0]");
  m.function<temperature_scale>("temperature_scale", "logit / temperature",
                                {{"logit", "the token's logit"}, {"temperature", "above 0; 1 changes nothing"}})
      .example("[3.0,0.5]");
  m.function<token_frequency_penalty>(
       "token_frequency_penalty", "logit - token_count * frequency_penalty - presence_penalty, that where count > 0",
       {{"logit", "the token's logit"},
        {"token_count", "how often the token appeared"},
        {"frequency_penalty", "taken off for each time"},
        {"presence_penalty", "taken off once"}})
      .example("[2.0,3.0,0.5,0.25]");
  m.function<top_k_threshold>("top_k_threshold", "The k-th largest logit itself: logits below it are dropped",
                              {{"k_th_logit", "the k-th largest logit of the row"}})
      .example("[1.5]");
  m.function<top_p_cumulative>("top_p_cumulative", "The probability mass kept after this token of the sorted row",
                               {{"sorted_prob", "the token's probability; the row is sorted descending"},
                                {"cumulative_so_far", "mass of the tokens before it"},
                                {"p", "mass at which the nucleus is complete, 0 to 1"}})
      .example("[0.25,0.5,0.9]");
  m.function<typical_p_score>("typical_p_score", "|-token_log_prob - entropy|: typical sampling keeps the smallest",
                              {{"token_log_prob", "the token's log-probability"}, {"entropy", "of the row, in nats"}})
      .example("[-1.5,1.0]");
}

}  // namespace krt::llm_sampling
