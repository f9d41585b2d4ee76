#include "modules/transformer_blocks/scalar/scalar.h"

#include "runtime/registry/module_builder.h"

namespace krt::transformer_blocks {

void register_scalar(Registry& registry) {
  ModuleBuilder m(registry, "transformer_blocks", "Scalar formulas of a transformer layer");
  m.function<attention_head_output>("attention_head_output", "value * attention_weight, one term of a head's output",
                                    {{"value", "of one key"}, {"attention_weight", "softmax weight of that key"}})
      .example("[2.0,0.25]");
  m.function<causal_mask_logit>(
       "causal_mask_logit", "The logit where key_pos <= query_pos, else -Infinity",
       {{"logit", "score of the query and the key"}, {"query_pos", "of the query"}, {"key_pos", "of the key"}})
      .example("[1.5,3.0,2.0]");
  m.function<dropout_scale>("dropout_scale", "x / keep_prob, the scaling of inverted dropout",
                            {{"x", "a kept value"}, {"keep_prob", "probability of keeping, above 0 to 1"}})
      .example("[1.5,0.5]");
  m.function<feedforward_layer1>("feedforward_layer1", "max(0, x * weight + bias)",
                                 {{"x", "input"}, {"weight", "of the connection"}, {"bias", "of the hidden unit"}})
      .example("[2.0,0.5,0.25]");
  m.function<feedforward_layer2>("feedforward_layer2", "x * weight + bias",
                                 {{"x", "hidden value"}, {"weight", "of the connection"}, {"bias", "of the output"}})
      .example("[2.0,0.5,0.25]");
  m.function<gated_feedforward>("gated_feedforward", "x * sigmoid(gate), the gated linear unit",
                                {{"x", "the value"}, {"gate", "the gate's input"}})
      .caps({.determinism = Determinism::kBitExactPerVariant})
      .example("[2.0,0.0]");
  m.function<multi_head_split_head>("multi_head_split_head",
                                    "The value where the head's slice lies inside the embedding, else 0",
                                    {{"embedding_val", "a value of the slice"},
                                     {"head", "index of the head, from 0"},
                                     {"head_dim", "width of a head"},
                                     {"d_model", "width of the embedding"}})
      .example("[1.5,1.0,4.0,8.0]");
  m.function<post_norm>("post_norm", "(x + sublayer_out) * norm_scale + norm_bias",
                        {{"x", "the residual stream"},
                         {"sublayer_out", "what the sublayer adds"},
                         {"norm_scale", "gamma times 1 / standard deviation"},
                         {"norm_bias", "beta minus mean times that"}})
      .example("[1.0,2.0,0.5,0.25]");
  m.function<pre_norm>("pre_norm", "x + sublayer_out, the stream of a pre-norm layer",
                       {{"x", "the residual stream"},
                        {"norm_out", "what the sublayer read; no part of the sum"},
                        {"sublayer_out", "what the sublayer adds"}})
      .example("[1.5,0.5,2.25]");
  m.function<residual_connection>("residual_connection", "x + sublayer_out",
                                  {{"x", "the residual stream"}, {"sublayer_out", "what the sublayer adds"}})
      .example("[1.5,2.25]");
}

}  // namespace krt::transformer_blocks
