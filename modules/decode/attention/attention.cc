#include "modules/decode/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "modules/decode/attention/kernels.h"
#include "modules/decode/contract/contract.h"
#include "modules/decode/contract/rows.h"
#include "modules/decode/rmsnorm/rmsnorm.h"
#include "modules/decode/rope/rope.h"
#include "runtime/registry/module_builder.h"

namespace krt::decode {
namespace {

std::int64_t check_values(const Floats& q, const Floats& k, const Floats& v, std::span<const std::int64_t> pos,
                          std::int64_t kv_heads, std::int64_t head_dim) {
  if (q.size() == 0 || k.size() == 0 || v.size() == 0 || pos.empty() || kv_heads < 1 || head_dim < 1)
    return kEmptyDimension;
  if (kv_heads > kMaxDim || head_dim > kMaxDim) return kDimensionTooLarge;
  const auto d = static_cast<std::size_t>(head_dim);
  const std::size_t row = static_cast<std::size_t>(kv_heads) * d;
  if (k.size() % row != 0 || k.size() / row % pos.size() != 0) return kRowLengthMismatch;
  return q.size() % d != 0 || q.size() / d % (k.size() / row) != 0 ? kRowLengthMismatch : kOk;
}

bool valid(double scale, std::int64_t window, double softcap, double eps, double rope_theta) {
  const auto positive = [](double x, double least) { return x == 0 || (std::isfinite(x) && x >= least); };
  constexpr double kLeast = 0x1p-100, kMost = 0x1p100;  // far from where a score in f32 would overflow
  return positive(scale, kLeast) && scale <= kMost && window >= 0 && positive(softcap, kLeast) && softcap <= kMost &&
         std::isfinite(eps) && eps >= 0 && positive(rope_theta, 1);
}

// The caches of a call: those of each sequence lie one after another.
struct Caches {
  CacheFormat format;
  std::size_t kv_heads, head_dim, sequences;
  std::span<std::uint8_t> k, v;

  [[nodiscard]] std::size_t row_bytes() const { return cache_row_bytes(format, head_dim); }
  [[nodiscard]] std::size_t capacity() const { return k.size() / sequences / kv_heads / row_bytes(); }
  [[nodiscard]] bool lengths_fit() const {
    return v.size() == k.size() && k.size() % sequences == 0 && k.size() / sequences % kv_heads == 0 &&
           k.size() / sequences / kv_heads % row_bytes() == 0;
  }
  [[nodiscard]] bool hold(std::span<const std::int64_t> pos, std::size_t new_rows) const {
    const std::size_t room = capacity();
    return new_rows <= room && std::all_of(pos.begin(), pos.end(), [&](std::int64_t p) {
             return p >= 0 && static_cast<std::size_t>(p) <= room - new_rows;
           });
  }
  [[nodiscard]] bool overlap_any(std::initializer_list<std::span<const std::byte>> others) const {
    const auto a = std::as_bytes(k), b = std::as_bytes(v);
    return overlap(a, b) || std::any_of(others.begin(), others.end(), [&](std::span<const std::byte> other) {
             return overlap(a, other) || overlap(b, other);
           });
  }
  [[nodiscard]] KvCache of(std::size_t sequence) const {
    const std::size_t at = sequence * (k.size() / sequences);
    return {format,
            kv_heads,
            capacity(),
            head_dim,
            std::as_writable_bytes(k).data() + at,
            std::as_writable_bytes(v).data() + at};
  }

  void append_and_attend(Context& context, std::span<const float> queries, std::span<const float> keys,
                         std::span<const float> values, std::span<const std::int64_t> pos,
                         const AttentionOptions& options, std::span<float> out) const {
    const std::size_t each = keys.size() / sequences, q_each = queries.size() / sequences;
    const std::size_t rows = each / (kv_heads * head_dim);
    std::vector<AttentionQuery> jobs;
    for (std::size_t s = 0; s < sequences; ++s) {
      const auto at = static_cast<std::size_t>(pos[s]);
      append(context, of(s), at, keys.subspan(s * each, each), values.subspan(s * each, each));
      jobs.push_back({of(s), at, rows, queries.data() + s * q_each, out.data() + s * q_each});
    }
    AttentionWorkspace workspace;
    attention_rows(context, jobs, q_each / rows / head_dim, options, workspace);
  }
};

// Every row's position.
std::vector<std::int64_t> positions(std::span<const std::int64_t> pos, std::size_t rows_each) {
  std::vector<std::int64_t> out;
  for (const std::int64_t first : pos)
    for (std::size_t r = 0; r < rows_each; ++r) out.push_back(first + static_cast<std::int64_t>(r));
  return out;
}

// Queries and keys as attention takes them: normed and rotated where the call asks for it.
struct Prepared {
  std::vector<float> values;
  std::span<const float> view;

  void norm(Context& context, const std::optional<std::span<const float>>& weight, double eps) {
    if (!weight) return;
    std::vector<float> out(view.size());
    rmsnorm_rows(context, view, *weight, eps, out);
    values = std::move(out);
    view = values;
  }
  std::span<float> own() {
    if (values.empty()) values.assign(view.begin(), view.end());
    view = values;
    return values;
  }
};

}  // namespace

AttentionResult attention(Context& context, const Floats& q, const Floats& k, const Floats& v,
                          std::span<std::uint8_t> k_cache, std::span<std::uint8_t> v_cache,
                          std::span<const std::int64_t> pos, std::int64_t kv_heads, std::int64_t head_dim,
                          std::string_view format, double scale, std::int64_t window, double softcap,
                          std::optional<std::span<const float>> q_norm, std::optional<std::span<const float>> k_norm,
                          double eps, double rope_theta) {
  if (const std::int64_t status = check_values(q, k, v, pos, kv_heads, head_dim); status != kOk) return {{}, status};
  const auto d = static_cast<std::size_t>(head_dim);
  if (v.size() != k.size()) return {{}, kOperandLengthMismatch};
  for (const auto& weight : {q_norm, k_norm})
    if (weight && weight->size() != d) return {{}, kOperandLengthMismatch};

  const std::optional<CacheFormat> known = cache_format_named(format);
  Caches caches{known.value_or(CacheFormat::kF32), static_cast<std::size_t>(kv_heads), d, pos.size(), k_cache, v_cache};
  const std::size_t rows = k.size() / (caches.kv_heads * d);
  if (known && !caches.lengths_fit()) return {{}, kCacheLengthMismatch};
  if (rope_theta != 0 && d % 2 != 0) return {{}, kOddHeadDimension};
  if (q.size() / d / rows % caches.kv_heads != 0) return {{}, kHeadCountMismatch};
  if (known && !caches.hold(pos, rows / pos.size())) return {{}, kPositionOutOfRange};
  if (caches.overlap_any({q.memory(), k.memory(), v.memory()})) return {{}, kOverlappingBuffers};
  if (!known || !valid(scale, window, softcap, eps, rope_theta)) return {{}, kParameterOutOfRange};

  Prepared queries{{}, q.values()}, keys{{}, k.values()};
  queries.norm(context, q_norm, eps);
  keys.norm(context, k_norm, eps);
  if (rope_theta != 0) {
    const std::vector<std::int64_t> row_pos = positions(pos, rows / pos.size());
    const RopeResult turned = rope(context, queries.own(), keys.own(), row_pos, head_dim, rope_theta, false);
    if (turned.status != kOk) return {{}, turned.status};
  }
  std::vector<float> out(q.size());
  caches.append_and_attend(context, queries.view, keys.view, v.values(), pos,
                           {scale, static_cast<std::size_t>(window), softcap}, out);
  return {std::move(out), kOk};
}

void register_attention(Registry& registry) {
  ModuleBuilder m(registry, "decode", kModuleSummary);
  m.function<attention>(
       "attention", "Appends keys and values to a KV cache, then causal attention of the new rows over it",
       {{"q", "rows * q_heads * head_dim values"},
        {"k", "rows * kv_heads * head_dim values"},
        {"v", "as many values as k"},
        {"k_cache", "for each sequence kv_heads * capacity rows of head_dim values in `format`; changed in place"},
        {"v_cache", "as k_cache"},
        {"pos", "for each sequence how many rows its cache holds; it has rows / len(pos) of the new ones"},
        {"kv_heads", "heads of the cache; q_heads is a multiple of them"},
        {"head_dim", "values of one head"},
        {"format", "f32, f16, bf16 or q8_0", "f16"},
        {"scale", "factor of the scores; 0 is 1 / sqrt(head_dim)", 0.0},
        {"window", "keys that a query sees, itself among them; 0 is all", 0},
        {"softcap", "scores become softcap * tanh(score / softcap); 0 is off", 0.0},
        {"q_norm", "weights of a root-mean-square norm of each query head; none: no norm"},
        {"k_norm", "the same of each key head"},
        {"eps", "added to the mean square of these norms, finite and 0 or more", 1e-6},
        {"rope_theta", "base of a half-split rotation by position, after the norms; 0 is off", 0.0}})
      .details(
          "Keys are taken in blocks of 256 positions folded in order: the bits depend on neither threads nor chunks")
      .statuses(kStatuses)
      .caps({.determinism = Determinism::kBitExactPerVariant, .side_effects = SideEffects::kChangesArguments})
      .variants(infos(attention_variants()), "rows x q_heads x head_dim")
      .example("[[1,0],[1,0],[3,4],[0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0],[1],1,2]");
}

}  // namespace krt::decode
