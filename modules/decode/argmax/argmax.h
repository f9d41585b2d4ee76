#pragma once
// decode.argmax: the index of the largest logit, by torch.argmax's rule: the first NaN wins over everything, of equal
// values the lowest index wins, and -0 equals +0. numpy.argmax agrees.
//
// Shapes    logits: n values, n >= 1
// Types     f32; f16 and bf16 are converted at the edge, which changes no order
// Error     none: exact, the same from every variant
// Threads   one: a row of 151,936 logits takes 10 us, about what waking another thread costs
// Status    600; else 601 (empty), with token_id -1 and logit 0

#include <array>
#include <cstdint>
#include <span>

#include "runtime/dispatch/variant.h"
#include "runtime/registry/floats.h"

namespace krt::decode {

struct ArgmaxResult {
  std::int64_t token_id;
  double logit;
  std::int64_t status;
  static constexpr std::array kFields{"token_id", "logit", "status"};
};
ArgmaxResult argmax(Context& context, const Floats& logits);

// The index in n >= 1 values.
std::size_t argmax_of(Context& context, std::span<const float> logits);

using Argmax = std::size_t(const float* x, std::size_t n);
Argmax argmax_reference;  // one comparison at a time: the variant "scalar"
const std::vector<Variant<Argmax>>& argmax_variants();

}  // namespace krt::decode
