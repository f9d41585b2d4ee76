#include "modules/fused_kernels/scalar/scalar.h"

#include "runtime/registry/module_builder.h"

namespace krt::fused_kernels {

void register_scalar(Registry& registry) {
  constexpr Capabilities kUsesLibm{.determinism = Determinism::kBitExactPerVariant};
  ModuleBuilder m(registry, "fused_kernels", "Scalar formulas of fused operations");
  m.function<fused_add_norm>("fused_add_norm", "((x + sublayer) - mean) * inv_std * gamma + beta",
                             {{"x", "the residual stream"},
                              {"sublayer", "what the sublayer adds"},
                              {"mean", "mean of the row of sums"},
                              {"inv_std", "1 / standard deviation of the row of sums"},
                              {"gamma", "scale"},
                              {"beta", "shift"}})
      .example("[1.0,2.0,0.5,2.0,1.5,0.25]");
  m.function<fused_attention_score>("fused_attention_score", "q * k / sqrt(head_dim), plus mask_value where masked",
                                    {{"q", "a value of the query"},
                                     {"k", "the key's value at its place"},
                                     {"head_dim", "width of a head"},
                                     {"mask_value", "what a masked score gets added, -Infinity to hide it"},
                                     {"is_masked", "0 if not, any other number if so"}})
      .example("[2.0,3.0,4.0,-1.0,1.0]");
  m.function<fused_dropout_residual>("fused_dropout_residual", "x, plus sublayer / keep_prob where kept",
                                     {{"x", "the residual stream"},
                                      {"sublayer", "what the sublayer adds"},
                                      {"keep_prob", "probability of keeping, above 0 to 1"},
                                      {"is_kept", "0 if not, any other number if so"}})
      .example("[1.0,2.0,0.5,1.0]");
  m.function<fused_layernorm_element>("fused_layernorm_element", "(x - mean) * inv_std * gamma + beta",
                                      {{"x", "a value of the row"},
                                       {"mean", "mean of the row"},
                                       {"inv_std", "1 / standard deviation of the row"},
                                       {"gamma", "scale"},
                                       {"beta", "shift"}})
      .example("[3.0,0.5,2.0,1.5,0.25]");
  m.function<fused_matmul_bias_gelu>("fused_matmul_bias_gelu", "activations.gelu(dot_product + bias)",
                                     {{"dot_product", "of a row and a column"}, {"bias", "of the output"}})
      .caps(kUsesLibm)
      .example("[0.75,0.25]");
  m.function<fused_matmul_bias_relu>("fused_matmul_bias_relu", "max(0, dot_product + bias)",
                                     {{"dot_product", "of a row and a column"}, {"bias", "of the output"}})
      .example("[0.75,0.25]");
  m.function<fused_rope_attention>("fused_rope_attention", "Product of rotated q and k, over sqrt(head_dim)",
                                   {{"q", "first of the query's pair"},
                                    {"k", "first of the key's pair"},
                                    {"cos_val", "cosine of the angle"},
                                    {"sin_val", "sine of the angle"},
                                    {"q_pair", "second of the query's pair"},
                                    {"k_pair", "second of the key's pair"},
                                    {"head_dim", "width of a head"}})
      .example("[1.0,2.0,1.0,0.0,3.0,4.0,4.0]");
  m.function<fused_scale_shift>("fused_scale_shift", "x * scale + shift",
                                {{"x", "any number"}, {"scale", "factor"}, {"shift", "summand"}})
      .example("[2.0,0.5,0.25]");
  m.function<fused_softmax_mask>("fused_softmax_mask", "exp(logit - logit_max) / sum_exp where valid, else 0",
                                 {{"logit", "of the entry"},
                                  {"logit_max", "the largest valid logit of the row"},
                                  {"sum_exp", "sum of exp(logit - logit_max) over the valid entries"},
                                  {"is_valid", "0 if masked, any other number if not"}})
      .caps(kUsesLibm)
      .example("[1.0,1.0,2.0,1.0]");
  m.function<kernel_fusion_savings>("kernel_fusion_savings", "Bytes of memory traffic that fusing operations saves",
                                    {{"n_fused_ops", "how many operations become one; 0 bytes where it is 1 or less"},
                                     {"bytes_per_intermediate", "size of one value"},
                                     {"n_elements", "values of each intermediate"}})
      .example("[3.0,4.0,1024.0]");
}

}  // namespace krt::fused_kernels
