#include "modules/decode/argmax/argmax.h"

#include "modules/decode/contract/contract.h"
#include "runtime/registry/module_builder.h"

namespace krt::decode {

std::size_t argmax_of(Context& context, std::span<const float> logits) {
  return pick(context, argmax_variants(), {std::ssize(logits)}).run(logits.data(), logits.size());
}

ArgmaxResult argmax(Context& context, const Floats& logits) {
  if (logits.size() == 0) return {-1, 0, kEmptyDimension};
  const std::size_t best = argmax_of(context, logits.values());
  return {static_cast<std::int64_t>(best), double{logits.values()[best]}, kOk};
}

void register_argmax(Registry& registry) {
  ModuleBuilder m(registry, "decode", kModuleSummary);
  m.function<argmax>("argmax", "The index of the largest logit; the first NaN wins, of equals the lowest index",
                     {{"logits", "n values, n >= 1"}})
      .details("torch.argmax's rule: greedy decoding")
      .statuses(kStatuses)
      .variants(infos(argmax_variants()), "n")
      .example("[[1,3,2,3]]");
}

}  // namespace krt::decode
