#include "modules/decode/rmsnorm/rmsnorm.h"

#include <cmath>

#include "modules/decode/contract/contract.h"
#include "modules/decode/contract/rows.h"
#include "runtime/registry/module_builder.h"

namespace krt::decode {
namespace {

// `residual` is null or has the length of x.
void norm_rows(Context& context, float* residual, std::span<const float> x, std::span<const float> weight, double eps,
               std::span<float> out) {
  const std::size_t d = weight.size();
  const std::size_t rows = x.size() / d;
  const auto& variant =
      pick(context, rmsnorm_variants(), {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(d)});
  for_rows(context.arena, rows, d, [&](std::size_t row) {
    const std::size_t at = row * d;
    float* const residual_row = residual == nullptr ? nullptr : residual + at;
    variant.run(residual_row, x.data() + at, weight.data(), d, eps, out.data() + at);
  });
}

bool valid_eps(double eps) { return std::isfinite(eps) && eps >= 0; }

}  // namespace

std::int64_t rmsnorm_shape_check(std::size_t len_x, std::size_t len_weight) {
  if (len_x == 0 || len_weight == 0) return kEmptyDimension;
  if (len_weight > static_cast<std::size_t>(kMaxDim)) return kDimensionTooLarge;
  return len_x % len_weight != 0 ? kRowLengthMismatch : kOk;
}

void rmsnorm_rows(Context& context, std::span<const float> x, std::span<const float> weight, double eps,
                  std::span<float> out) {
  norm_rows(context, nullptr, x, weight, eps, out);
}

void add_rmsnorm_rows(Context& context, std::span<float> residual, std::span<const float> x,
                      std::span<const float> weight, double eps, std::span<float> out) {
  norm_rows(context, residual.data(), x, weight, eps, out);
}

RmsNormResult rmsnorm(Context& context, const Floats& x, const Floats& weight, double eps) {
  if (const std::int64_t status = rmsnorm_shape_check(x.size(), weight.size()); status != kOk) return {{}, status};
  if (!valid_eps(eps)) return {{}, kParameterOutOfRange};
  std::vector<float> out(x.size());
  rmsnorm_rows(context, x.values(), weight.values(), eps, out);
  return {std::move(out), kOk};
}

RmsNormResult add_rmsnorm(Context& context, const FloatsInPlace& residual, const Floats& x, const Floats& weight,
                          double eps) {
  if (const std::int64_t status = rmsnorm_shape_check(x.size(), weight.size()); status != kOk) return {{}, status};
  if (residual.size() != x.size()) return {{}, kOperandLengthMismatch};
  if (overlap(residual.memory(), x.memory()) || overlap(residual.memory(), weight.memory()))
    return {{}, kOverlappingBuffers};
  if (!valid_eps(eps)) return {{}, kParameterOutOfRange};
  std::vector<float> out(x.size());
  add_rmsnorm_rows(context, residual.values(), x.values(), weight.values(), eps, out);
  residual.store();
  return {std::move(out), kOk};
}

void register_rmsnorm(Registry& registry) {
  ModuleBuilder m(registry, "decode", kModuleSummary);
  m.function<rmsnorm>("rmsnorm", "Root-mean-square norm of rows of len(weight) values",
                      {{"x", "rows * d values"},
                       {"weight", "d values, 1 to 2^24"},
                       {"eps", "added to the mean square, finite and 0 or more", 1e-6}})
      .details("out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i], within 4 * 2^-24 of each value")
      .statuses(kStatuses)
      .caps({.determinism = Determinism::kBitExactPerVariant})
      .variants(infos(rmsnorm_variants()), "rows x d")
      .example("[[3,4],[1,2],0]");
  m.function<add_rmsnorm>("add_rmsnorm", "residual += x in place, then the root-mean-square norm of the residual",
                          {{"residual", "rows * d values, changed in place"},
                           {"x", "rows * d values, no overlap with the residual"},
                           {"weight", "d values, 1 to 2^24"},
                           {"eps", "added to the mean square, finite and 0 or more", 1e-6}})
      .details("The sum is one f32 addition per value; the norm is within 4 * 2^-24 of each value")
      .statuses(kStatuses)
      .caps({.determinism = Determinism::kBitExactPerVariant, .side_effects = SideEffects::kChangesArguments})
      .variants(infos(rmsnorm_variants()), "rows x d")
      .example("[[1,2],[2,2],[1,2],0]");
}

}  // namespace krt::decode
