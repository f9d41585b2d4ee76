#include "modules/decode/rope/rope.h"

#include <algorithm>
#include <cmath>

#include "modules/decode/contract/contract.h"
#include "modules/decode/contract/rows.h"
#include "runtime/registry/module_builder.h"

namespace krt::decode {
namespace {

std::int64_t check(const FloatsInPlace& q, const FloatsInPlace& k, std::span<const std::int64_t> pos,
                   std::int64_t head_dim, double theta) {
  if (q.size() == 0 || pos.empty() || head_dim < 1) return kEmptyDimension;
  if (head_dim > kMaxDim) return kDimensionTooLarge;
  // Divided, not multiplied: no product can overflow.
  const auto width = static_cast<std::size_t>(head_dim);
  for (const std::size_t length : {q.size(), k.size()})
    if (length % width != 0 || length / width % pos.size() != 0) return kRowLengthMismatch;
  if (head_dim % 2 != 0) return kOddHeadDimension;
  if (std::any_of(pos.begin(), pos.end(), [](std::int64_t p) { return p < 0 || p > kMaxDim; }))
    return kPositionOutOfRange;
  if (overlap(q.memory(), k.memory())) return kOverlappingBuffers;
  return std::isfinite(theta) && theta >= 1 ? kOk : kParameterOutOfRange;
}

}  // namespace

std::vector<double> rope_frequencies(std::size_t head_dim, double theta) {
  std::vector<double> out(head_dim / 2);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(head_dim));
  return out;
}

void rope_angles(std::int64_t pos, std::span<const double> frequencies, RopeAngles& angles) {
  angles.cos.resize(frequencies.size());
  angles.sin.resize(frequencies.size());
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double angle = static_cast<double>(pos) * frequencies[i];
    angles.cos[i] = std::cos(angle);
    angles.sin[i] = std::sin(angle);
  }
}

void rope_rows(Context& context, std::span<float> x, std::size_t rows, std::size_t pairs, std::span<const double> cos,
               std::span<const double> sin, bool interleaved) {
  const std::size_t width = x.size() / rows;
  const std::size_t heads = width / (2 * pairs);
  const auto& variant =
      pick(context, rope_variants(),
           {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(heads), static_cast<std::int64_t>(2 * pairs)});
  for_rows(context.arena, rows, width, [&](std::size_t row) {
    variant.run(x.data() + row * width, heads, pairs, &cos[row * pairs], &sin[row * pairs], interleaved);
  });
}

RopeResult rope(Context& context, const FloatsInPlace& q, const FloatsInPlace& k, std::span<const std::int64_t> pos,
                std::int64_t head_dim, double theta, bool interleaved) {
  if (const std::int64_t status = check(q, k, pos, head_dim, theta); status != kOk) return {status};
  const auto width = static_cast<std::size_t>(head_dim);
  const std::size_t rows = pos.size();
  const std::size_t q_width = q.size() / rows;
  const std::size_t k_width = k.size() / rows;
  const auto& variant =
      pick(context, rope_variants(),
           {static_cast<std::int64_t>(rows), static_cast<std::int64_t>((q_width + k_width) / width), head_dim});
  const std::vector<double> frequencies = rope_frequencies(width, theta);
  for_rows(context.arena, rows, q_width + k_width, [&](std::size_t row) {
    RopeAngles angles;
    rope_angles(pos[row], frequencies, angles);
    const auto rotate = [&](std::span<float> x, std::size_t row_width) {
      variant.run(x.data() + row * row_width, row_width / width, width / 2, angles.cos.data(), angles.sin.data(),
                  interleaved);
    };
    rotate(q.values(), q_width);
    rotate(k.values(), k_width);
  });
  q.store();
  k.store();
  return {kOk};
}

void register_rope(Registry& registry) {
  ModuleBuilder m(registry, "decode", kModuleSummary);
  m.function<rope>("rope", "Rotates queries and keys in place by their rows' positions",
                   {{"q", "rows * q_heads * head_dim values, changed in place"},
                    {"k", "rows * k_heads * head_dim values, changed in place; may be empty"},
                    {"pos", "the position of each row, 0 to 2^24"},
                    {"head_dim", "values of one head, even"},
                    {"theta", "base of the frequencies, 1 or more", 10000.0},
                    {"interleaved", "pairs are neighbours; else the two halves of a head", false}})
      .details("Angle pos * theta^(-2 i / head_dim) for pair i, in f64; within 4 * 2^-24 of the two products")
      .statuses(kStatuses)
      .caps({.determinism = Determinism::kBitExactPerVariant, .side_effects = SideEffects::kChangesArguments})
      .variants(infos(rope_variants()), "rows x heads x head_dim")
      .example("[[1,0,0,1],[0,1],[3],2]");
}

}  // namespace krt::decode
