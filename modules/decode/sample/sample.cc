#include "modules/decode/sample/sample.h"

#include <algorithm>
#include <cmath>

#include "modules/decode/contract/contract.h"
#include "modules/decode/sample/filters.h"
#include "modules/decode/sample/philox.h"
#include "runtime/registry/module_builder.h"

namespace krt::decode {
namespace {

bool positive_f32(double x) { return static_cast<float>(x) > 0 && std::isfinite(static_cast<float>(x)); }
bool within_unit(double x) { return x >= 0 && x <= 1; }  // not NaN
bool in_range(const SampleOptions& o) {
  return (o.temperature == 0 || positive_f32(o.temperature)) && o.top_k >= 0 && within_unit(o.top_p) &&
         within_unit(o.min_p) && within_unit(o.typical_p) && o.typical_p > 0 && within_unit(o.epsilon_cutoff) &&
         o.epsilon_cutoff < 1 && within_unit(o.eta_cutoff) && o.eta_cutoff < 1 && within_unit(o.top_h) &&
         o.min_tokens_to_keep >= 1 && positive_f32(o.repetition_penalty) && std::isfinite(o.presence_penalty) &&
         std::isfinite(o.frequency_penalty);
}

std::int64_t check(std::span<const float> logits, const SampleOptions& options, std::span<const std::int64_t> history) {
  if (logits.empty()) return kEmptyDimension;
  if (std::ssize(logits) > kMaxDim) return kDimensionTooLarge;
  if (!in_range(options)) return kParameterOutOfRange;
  const auto inside = [&](std::int64_t id) { return id >= 0 && id < std::ssize(logits); };
  return std::all_of(history.begin(), history.end(), inside) ? kOk : kTokenOutOfRange;
}

std::int64_t check(const Draw& draw, const SampleOptions& options) {
  if (draw.u.has_value() && !(*draw.u >= 0 && *draw.u < 1)) return kParameterOutOfRange;
  return options.temperature != 0 && draw.u.has_value() == draw.seed.has_value() ? kDrawUndetermined : kOk;
}

float penalised(float score, std::uint32_t times, const SampleOptions& o) {
  const auto repetition = static_cast<float>(o.repetition_penalty);
  score = score < 0 ? score * repetition : score / repetition;
  return static_cast<float>(static_cast<double>(score) - (o.frequency_penalty * times + o.presence_penalty));
}

// The row after penalties: itself, or a changed copy in the workspace.
std::span<const float> apply_penalties(std::span<const float> logits, const SampleOptions& o,
                                       std::span<const std::int64_t> history, SampleWorkspace& work) {
  const bool off = o.repetition_penalty == 1 && o.presence_penalty == 0 && o.frequency_penalty == 0;
  if (off || history.empty()) return logits;
  work.penalised.assign(logits.begin(), logits.end());
  if (work.counts.size() < logits.size()) work.counts.resize(logits.size());
  for (const std::int64_t id : history) ++work.counts[static_cast<std::size_t>(id)];
  for (const std::int64_t id : history) {
    std::uint32_t& times = work.counts[static_cast<std::size_t>(id)];
    float& score = work.penalised[static_cast<std::size_t>(id)];
    if (times != 0) score = penalised(score, times, o);
    times = 0;
  }
  return work.penalised;
}

void apply_filters(Selection& s, const SampleOptions& o) {
  const auto keep = static_cast<std::size_t>(std::min(o.min_tokens_to_keep, kMaxDim));
  if (o.top_h > 0) top_h(s, o.top_h);
  if (o.top_k > 0)
    top_k(s, std::max(keep, static_cast<std::size_t>(std::min(o.top_k, kMaxDim))),
          o.exact_top_k ? Ties::kCut : Ties::kKeep);
  if (o.top_p < 1) top_p(s, o.top_p, keep);
  if (o.min_p > 0) min_p(s, o.min_p, keep);
  if (o.typical_p < 1) typical_p(s, o.typical_p, keep);
  if (o.epsilon_cutoff > 0) epsilon_cutoff(s, o.epsilon_cutoff, keep);
  if (o.eta_cutoff > 0) eta_cutoff(s, o.eta_cutoff, keep);
}

// The selection up to the draw, of checked arguments. At temperature 0 no filter is asked: the best token is the only
// one in.
std::int64_t select(Selection& s, std::span<const float> logits, const SampleOptions& o,
                    std::span<const std::int64_t> history, SampleWorkspace& work) {
  const float temperature = o.temperature == 0 ? 1.0F : static_cast<float>(o.temperature);
  const std::int64_t status = s.open(apply_penalties(logits, o, history, work), temperature);
  if (status == kOk && o.temperature != 0) apply_filters(s, o);
  return status;
}

}  // namespace

SurvivorsResult survivors(const RowPasses& passes, std::span<const float> logits, const SampleOptions& options,
                          std::span<const std::int64_t> history, SampleWorkspace& workspace) {
  std::int64_t status = check(logits, options, history);
  if (status != kOk) return {{}, {}, 0, status};
  Selection s(passes, workspace);
  status = select(s, logits, options, history, workspace);
  if (status != kOk) return {{}, {}, 0, status};
  if (options.temperature == 0) return {{s.argmax()}, {1.0}, 1, kOk};
  SurvivorsResult out{{}, {}, 0, kOk};
  const double total = s.total();
  s.sort();
  out.n = std::ssize(s.gathered());
  out.ids.reserve(s.gathered().size());
  out.probs.reserve(s.gathered().size());
  for (const Candidate& c : s.gathered()) {
    out.ids.push_back(c.id);
    out.probs.push_back(c.weight / total);
  }
  return out;
}

SampleResult sample(const RowPasses& passes, std::span<const float> logits, const SampleOptions& options,
                    std::span<const std::int64_t> history, const Draw& draw, SampleWorkspace& workspace) {
  std::int64_t status = check(logits, options, history);
  if (status == kOk) status = check(draw, options);
  if (status != kOk) return {-1, 0, 0, 0, status};
  Selection s(passes, workspace);
  status = select(s, logits, options, history, workspace);
  if (status != kOk) return {-1, 0, 0, 0, status};
  if (options.temperature == 0) return {s.argmax(), 1, 1, 0, kOk};
  const double u = draw.u.has_value() ? *draw.u : uniform_draw(*draw.seed, draw.sequence, draw.position);
  const auto n = static_cast<std::int64_t>(s.count());
  const double total = s.total();
  const Candidate token = s.draw(u);
  return {token.id, token.weight / total, n, u, kOk};
}

namespace {

using Ids = std::optional<std::span<const std::int64_t>>;
std::span<const std::int64_t> or_none(const Ids& ids) { return ids.value_or(std::span<const std::int64_t>()); }

const RowPasses& passes_for(Context& context, std::span<const float> logits) {
  return pick(context, row_variants(), {std::ssize(logits)}).run();
}

// The declared functions spell the options out: the C++ signature is the schema.
SurvivorsResult survivors_by_name(Context& context, std::span<const float> logits, double temperature,
                                  std::int64_t top_k, double top_p, double min_p, double typical_p,
                                  double epsilon_cutoff, double eta_cutoff, double top_h,
                                  std::int64_t min_tokens_to_keep, double repetition_penalty, double presence_penalty,
                                  double frequency_penalty, Ids history, bool exact_top_k) {
  const SampleOptions options{temperature,
                              top_k,
                              top_p,
                              min_p,
                              typical_p,
                              epsilon_cutoff,
                              eta_cutoff,
                              top_h,
                              min_tokens_to_keep,
                              repetition_penalty,
                              presence_penalty,
                              frequency_penalty,
                              exact_top_k};
  SampleWorkspace workspace;
  return survivors(passes_for(context, logits), logits, options, or_none(history), workspace);
}

SampleResult sample_by_name(Context& context, std::span<const float> logits, double temperature, std::int64_t top_k,
                            double top_p, std::optional<double> u, std::optional<std::int64_t> seed,
                            std::int64_t sequence, std::int64_t position, double min_p, double typical_p,
                            double epsilon_cutoff, double eta_cutoff, double top_h, std::int64_t min_tokens_to_keep,
                            double repetition_penalty, double presence_penalty, double frequency_penalty, Ids history,
                            bool exact_top_k) {
  const SampleOptions options{temperature,
                              top_k,
                              top_p,
                              min_p,
                              typical_p,
                              epsilon_cutoff,
                              eta_cutoff,
                              top_h,
                              min_tokens_to_keep,
                              repetition_penalty,
                              presence_penalty,
                              frequency_penalty,
                              exact_top_k};
  SampleWorkspace workspace;
  return sample(passes_for(context, logits), logits, options, or_none(history), {u, seed, sequence, position},
                workspace);
}

constexpr Text kRules =
    "penalties, temperature, then top_h, top_k, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff by the rules and "
    "in the order of transformers' logits warpers; modules/decode/sample/sample.h has the formulas";

constexpr Arg kLogits{"logits", "one row, f32[V], 1 to 2^24 values; -infinity is out"};
constexpr Arg kTemperature{"temperature", "divides the scores; 0 is argmax", 1.0};
constexpr Arg kTopK{"top_k", "how many of the largest scores stay, with all ties at the last; 0 is off", 0};
constexpr Arg kTopP{"top_p", "smallest nucleus of that mass, 0 to 1; 1 is off", 1.0};
constexpr Arg kMinP{"min_p", "smallest share of the top probability, 0 to 1; 0 is off", 0.0};
constexpr Arg kTypicalP{"typical_p", "mass of the typical set, above 0 to 1; 1 is off", 1.0};
constexpr Arg kEpsilon{"epsilon_cutoff", "smallest probability, 0 to below 1; 0 is off", 0.0};
constexpr Arg kEta{"eta_cutoff", "smallest probability, lowered by entropy, 0 to below 1; 0 is off", 0.0};
constexpr Arg kTopH{"top_h", "share of the entropy of the best 100 that stays, 0 to 1; 0 is off", 0.0};
constexpr Arg kKeep{"min_tokens_to_keep", "that many stay whatever the filters say, 1 or more", 1};
constexpr Arg kRepetition{"repetition_penalty", "divides the positive scores of history, multiplies the others", 1.0};
constexpr Arg kPresence{"presence_penalty", "taken off each score of history", 0.0};
constexpr Arg kFrequency{"frequency_penalty", "taken off each score of history once for every occurrence", 0.0};
constexpr Arg kHistory{"history", "ids that the penalties are for, prompt and output; none: no penalties"};
constexpr Arg kExact{"exact_top_k", "exactly top_k stay, the lower ids of tied ones", false};

}  // namespace

void register_sample(Registry& registry) {
  ModuleBuilder m(registry, "decode", kModuleSummary);
  m.function<survivors_by_name>("survivors", "The tokens that sampling may draw, in draw order, with probabilities",
                                {kLogits, kTemperature, kTopK, kTopP, kMinP, kTypicalP, kEpsilon, kEta, kTopH, kKeep,
                                 kRepetition, kPresence, kFrequency, kHistory, kExact})
      .details(kRules)
      .statuses(kStatuses)
      .variants(infos(row_variants()), "vocabulary")
      .example(R"({"logits": [1.5, 3, 2, -1], "top_k": 3, "top_p": 0.9})");
  m.function<sample_by_name>("sample", "Draws a token from a row of logits, by a given uniform draw or a seed",
                             {kLogits,
                              kTemperature,
                              kTopK,
                              kTopP,
                              {"u", "the uniform draw, 0 to below 1; else a seed is needed"},
                              {"seed", "key of the generator; with sequence and position it fixes the draw"},
                              {"sequence", "which sequence of a batch", 0},
                              {"position", "which token of the sequence", 0},
                              kMinP,
                              kTypicalP,
                              kEpsilon,
                              kEta,
                              kTopH,
                              kKeep,
                              kRepetition,
                              kPresence,
                              kFrequency,
                              kHistory,
                              kExact})
      .details(kRules)
      .statuses(kStatuses)
      .caps({.seed = Seed::kRequired})
      .variants(infos(row_variants()), "vocabulary")
      .example(R"({"logits": [1.5, 3, 2, -1], "temperature": 0.8, "top_k": 3, "top_p": 0.9, "u": 0.5})");
}

}  // namespace krt::decode
