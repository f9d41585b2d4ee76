#include "modules/llm_sampling/scalar/scalar.h"

#include "runtime/registry/module_builder.h"

namespace krt::llm_sampling {

void register_scalar(Registry& registry) {
  ModuleBuilder m(registry, "llm_sampling", "Scalar formulas of token selection");
  m.function<greedy_token_id>("greedy_token_id", "The candidate's id where its logit is the maximum, else -1",
                              {{"max_logit", "the largest logit of the row"},
                               {"current_logit", "the candidate's logit"},
                               {"current_id", "the candidate's id"}})
      .example("[9.0,9.0,1.0]");
}

}  // namespace krt::llm_sampling
