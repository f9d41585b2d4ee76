#include "modules/attnk/rope/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "modules/attnk/contract/args.h"
#include "modules/attnk/contract/contract.h"
#include "runtime/registry/module_builder.h"

namespace krt::attnk {
namespace {

constexpr std::size_t kParallelMinCells = std::size_t{1} << 15;

bool positive(double x) { return std::isfinite(x) && x > 0; }

std::int64_t check_head(std::int64_t head_dim, std::initializer_list<std::int64_t> others) {
  if (head_dim < 1 || std::min(others) < 1) return kEmptyDimension;
  if (head_dim > kMaxDim || std::max(others) > kMaxDim) return kDimensionTooLarge;
  return head_dim % 2 != 0 ? kHeadDimOdd : kOk;
}

struct Llama3 {
  double factor, low, high, original;
  [[nodiscard]] bool ok() const {
    return positive(factor) && positive(low) && positive(high) && positive(original) && high > low;
  }
  [[nodiscard]] double scaled(double f) const {
    const double wavelength = 2 * std::numbers::pi / f;
    if (wavelength > original / low) return f / factor;
    if (wavelength < original / high) return f;
    const double t = (original / wavelength - low) / (high - low);
    return (1 - t) * f / factor + t * f;
  }
};

RopeTable table_of(Context& context, std::int64_t max_pos, double theta, std::span<const double> inv_freq) {
  const auto rows = static_cast<std::size_t>(max_pos);
  const std::size_t pairs = inv_freq.size();
  std::vector<double> cosines(rows * pairs), sines(rows * pairs);
  const std::size_t parts = rows * pairs < kParallelMinCells ? 1 : static_cast<std::size_t>(context.arena.threads());
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(rows, parts, part);
    for (std::size_t row = r.begin; row < r.end; ++row)
      for (std::size_t p = 0; p < pairs; ++p) {
        const double angle = static_cast<double>(row) * inv_freq[p];
        cosines[row * pairs + p] = std::cos(angle);
        sines[row * pairs + p] = std::sin(angle);
      }
  });
  return {std::move(cosines), std::move(sines), max_pos, static_cast<std::int64_t>(pairs), theta, kOk};
}

RopeTable refused(std::int64_t status) { return {{}, {}, 0, 0, 0, status}; }

std::int64_t check_table(std::int64_t head_dim, std::int64_t max_pos, double theta) {
  if (const std::int64_t status = check_head(head_dim, {max_pos}); status != kOk) return status;
  if (!positive(theta)) return kParameterInvalid;
  return product({max_pos, head_dim / 2}) > kMaxCells ? kTooLarge : kOk;
}

struct Tables {
  std::span<const double> cosines, sines;
};

std::int64_t check_apply(std::span<const double> x, const Tables& tables, std::int64_t n_tok, std::int64_t n_heads,
                         std::int64_t head_dim, std::span<const std::int64_t> pos) {
  if (const std::int64_t status = check_head(head_dim, {n_tok, n_heads}); status != kOk) return status;
  if (std::ssize(x) != product({n_tok, n_heads, head_dim})) return kListLengthMismatch;
  const std::int64_t pairs = head_dim / 2;
  if (std::ssize(tables.cosines) % pairs != 0 || tables.cosines.size() != tables.sines.size())
    return kTableLengthMismatch;
  if (std::ssize(pos) != n_tok) return kListLengthMismatch;
  const std::int64_t rows = std::ssize(tables.cosines) / pairs;
  for (const std::int64_t p : pos)
    if (p < 0 || p >= rows) return kPositionOutOfRange;
  return kOk;
}

// One head: pair p lies at p * step and p * step + distance.
struct Layout {
  std::size_t step, distance;
};

void turn(const double* x, double* out, const double* cosines, const double* sines, double sign, std::size_t pairs,
          Layout layout) {
  for (std::size_t p = 0; p < pairs; ++p) {
    const std::size_t a = p * layout.step, b = a + layout.distance;
    const double c = cosines[p], s = sign * sines[p];
    out[a] = x[a] * c - x[b] * s;
    out[b] = x[b] * c + x[a] * s;
  }
}

RopeApplied apply(Context& context, std::span<const double> x, const Tables& tables, std::int64_t n_tok,
                  std::int64_t n_heads, std::int64_t head_dim, std::span<const std::int64_t> pos, bool interleaved,
                  double sign) {
  const std::int64_t status = check_apply(x, tables, n_tok, n_heads, head_dim, pos);
  if (status != kOk) return {{}, 0, 0, 0, status};
  const auto tokens = static_cast<std::size_t>(n_tok), heads = static_cast<std::size_t>(n_heads);
  const auto dim = static_cast<std::size_t>(head_dim);
  const std::size_t pairs = dim / 2;
  const Layout layout = interleaved ? Layout{2, 1} : Layout{1, pairs};
  std::vector<double> values(x.size());
  const std::size_t parts = x.size() < kParallelMinCells ? 1 : static_cast<std::size_t>(context.arena.threads());
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(tokens * heads, parts, part);
    for (std::size_t row = r.begin; row < r.end; ++row) {
      const std::size_t at = static_cast<std::size_t>(pos[row / heads]) * pairs;
      turn(&x[row * dim], &values[row * dim], &tables.cosines[at], &tables.sines[at], sign, pairs, layout);
    }
  });
  return {std::move(values), n_tok, n_heads, head_dim, kOk};
}

}  // namespace

std::vector<double> rope_inv_freq(std::int64_t head_dim, double theta) {
  if (check_head(head_dim, {1}) != kOk || !positive(theta)) return {};
  std::vector<double> f(static_cast<std::size_t>(head_dim / 2));
  for (std::size_t p = 0; p < f.size(); ++p)
    f[p] = 1 / std::pow(theta, static_cast<double>(2 * p) / static_cast<double>(head_dim));
  return f;
}

std::vector<double> rope_inv_freq_llama3(std::int64_t head_dim, double theta, double factor, double low_freq_factor,
                                         double high_freq_factor, double original_max_position_embeddings) {
  const Llama3 scaling{factor, low_freq_factor, high_freq_factor, original_max_position_embeddings};
  if (!scaling.ok()) return {};
  std::vector<double> frequencies = rope_inv_freq(head_dim, theta);
  for (double& f : frequencies) f = scaling.scaled(f);
  return frequencies;
}

RopeTable rope_table(Context& context, std::int64_t head_dim, std::int64_t max_pos, double theta) {
  const std::int64_t status = check_table(head_dim, max_pos, theta);
  return status != kOk ? refused(status) : table_of(context, max_pos, theta, rope_inv_freq(head_dim, theta));
}

RopeTable rope_table_llama3(Context& context, std::int64_t head_dim, std::int64_t max_pos, double theta, double factor,
                            double low_freq_factor, double high_freq_factor, double original_max_position_embeddings) {
  const std::int64_t status = check_table(head_dim, max_pos, theta);
  if (status != kOk) return refused(status);
  const auto frequencies = rope_inv_freq_llama3(head_dim, theta, factor, low_freq_factor, high_freq_factor,
                                                original_max_position_embeddings);
  return frequencies.empty() ? refused(kParameterInvalid) : table_of(context, max_pos, theta, frequencies);
}

RopeTable rope_table_freq_factors(Context& context, std::int64_t head_dim, std::int64_t max_pos, double theta,
                                  std::span<const double> freq_factors) {
  const std::int64_t status = check_table(head_dim, max_pos, theta);
  if (status != kOk) return refused(status);
  if (std::ssize(freq_factors) != head_dim / 2) return refused(kListLengthMismatch);
  std::vector<double> frequencies = rope_inv_freq(head_dim, theta);
  for (std::size_t p = 0; p < frequencies.size(); ++p) {
    if (!positive(freq_factors[p])) return refused(kParameterInvalid);
    frequencies[p] /= freq_factors[p];
  }
  return table_of(context, max_pos, theta, frequencies);
}

RopeApplied rope_apply_flat(Context& context, std::span<const double> x, std::span<const double> cos_t,
                            std::span<const double> sin_t, std::int64_t n_tok, std::int64_t n_heads,
                            std::int64_t head_dim, std::span<const std::int64_t> pos, bool interleaved) {
  return apply(context, x, {cos_t, sin_t}, n_tok, n_heads, head_dim, pos, interleaved, 1);
}

RopeApplied rope_apply_inverse_flat(Context& context, std::span<const double> x, std::span<const double> cos_t,
                                    std::span<const double> sin_t, std::int64_t n_tok, std::int64_t n_heads,
                                    std::int64_t head_dim, std::span<const std::int64_t> pos, bool interleaved) {
  return apply(context, x, {cos_t, sin_t}, n_tok, n_heads, head_dim, pos, interleaved, -1);
}

double rope_theta_for(double base, double factor, std::int64_t scaling_code) {
  if (!positive(base) || !positive(factor)) return 0;
  switch (scaling_code) {
    case 0: return base;
    case 1: return base * factor;
    case 2: return base * factor * factor;
    default: return 0;
  }
}

RopeAgreement rope_theta_agreement(double base, double original_context, double target_context) {
  if (!positive(base) || !positive(original_context) || !positive(target_context)) return {0, 0, 0, false};
  const double factor = target_context / original_context;
  const double squared = rope_theta_for(base, factor, 2), linear = rope_theta_for(base, factor, 1);
  return {squared, linear, squared / linear, squared == linear};
}

void register_rope(Registry& registry) {
  ModuleBuilder m(registry, "attnk.rope", "Rotary position embeddings: tables, and turning forth and back, in f64");
  constexpr Arg kHeadDim{"head_dim", "values a head, even"};
  constexpr Arg kMaxPos{"max_pos", "rows of the table: positions 0 to max_pos - 1"};
  constexpr Arg kTheta{"theta", "base of the frequencies, finite and above 0 (10000, 1000000)"};
  constexpr Arg kFactor{"factor", "divides the frequencies of long waves"};
  constexpr Arg kLow{"low_freq_factor", "waves longer than original / this are divided"};
  constexpr Arg kHigh{"high_freq_factor", "waves shorter than original / this are kept; above low_freq_factor"};
  constexpr Arg kOriginal{"original_max_position_embeddings", "context length before scaling"};
  m.function<rope_inv_freq>("rope_inv_freq", "theta^(-2p / head_dim) for every pair p", {kHeadDim, kTheta})
      .caps(args::kLibm)
      .example("[8,10000.0]");
  m.function<rope_inv_freq_llama3>("rope_inv_freq_llama3", "The frequencies of every pair, scaled as Llama 3 does",
                                   {kHeadDim, kTheta, kFactor, kLow, kHigh, kOriginal})
      .caps(args::kLibm)
      .example("[8,500000.0,8.0,1.0,4.0,8192.0]");
  m.function<rope_table>("rope_table", "Cosines and sines of every position and pair", {kHeadDim, kMaxPos, kTheta})
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[4,3,10000.0]");
  m.function<rope_table_llama3>("rope_table_llama3", "The table of the frequencies that Llama 3 scales",
                                {kHeadDim, kMaxPos, kTheta, kFactor, kLow, kHigh, kOriginal})
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[8,3,500000.0,8.0,1.0,4.0,8192.0]");
  m.function<rope_table_freq_factors>(
       "rope_table_freq_factors", "The table of frequencies divided by a factor a pair (rope_freqs.weight)",
       {kHeadDim, kMaxPos, kTheta, {"freq_factors", "one factor a pair, finite and above 0"}})
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[4,3,10000.0,[1.0,8.0]]");
  constexpr Arg kApply[] = {{"x", "[n_tok][n_heads][head_dim]"},
                            {"cos_t", "[rows][head_dim / 2]"},
                            {"sin_t", "[rows][head_dim / 2]"},
                            {"n_tok", "tokens"},
                            {"n_heads", "heads a token"},
                            kHeadDim,
                            {"pos", "the position of every token, below the rows of the table"},
                            {"interleaved", "false: pairs (p, p + head_dim / 2); true: pairs (2p, 2p + 1)"}};
  m.function<rope_apply_flat>("rope_apply_flat", "Turns every pair by the angle of its token's position", kApply)
      .statuses(kStatuses)
      .example("[[1,2,3,4],[1.0,1.0,0.0,1.0],[0.0,0.0,1.0,0.0],1,1,4,[1],false]");
  m.function<rope_apply_inverse_flat>("rope_apply_inverse_flat", "Turns every pair back", kApply)
      .statuses(kStatuses)
      .example("[[1,2,3,4],[1.0,1.0,0.0,1.0],[0.0,0.0,1.0,0.0],1,1,4,[1],true]");
  m.function<rope_theta_for>("rope_theta_for", "The base for a context some factor longer",
                             {{"base", "theta before scaling, finite and above 0"},
                              {"factor", "how many times longer, finite and above 0"},
                              {"scaling_code", "0 none, 1 linear (base * factor), 2 squared (base * factor^2)"}})
      .example("[10000.0,4.0,1]");
  m.function<rope_theta_agreement>("rope_theta_agreement", "The base by the squared and by the linear convention",
                                   {{"base", "theta before scaling"},
                                    {"original_context", "positions the model was trained on"},
                                    {"target_context", "positions wanted"}})
      .example("[10000.0,2048.0,8192.0]");
}

}  // namespace krt::attnk
