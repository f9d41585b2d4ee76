#include "runtime/dispatch/variant.h"

namespace krt {

std::string_view refusal(Isa isa, Gate gate, std::span<const std::int64_t> shape) {
  if (!cpu_has(isa)) return "cpu";
  if (!within(isa, isa_cap())) return "isa_cap";
  return gate != nullptr && !shape.empty() ? gate(shape) : std::string_view();
}

namespace detail {

void throw_no_variant(std::string_view forced, std::span<const VariantInfo> variants,
                      std::span<const std::int64_t> shape) {
  std::string text = forced.empty() ? "no variant serves the call:" : "variant " + quoted(forced) + " is forced:";
  for (const VariantInfo& v : variants) {
    const std::string_view gate = v.refusal(shape);
    text += " " + std::string(v.name) + " (" + std::string(gate.empty() ? "not forced" : gate) + ")";
  }
  throw StatusError({Reason::kNoVariant, text});
}

}  // namespace detail
}  // namespace krt
