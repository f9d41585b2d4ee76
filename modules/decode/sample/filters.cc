#include "modules/decode/sample/filters.h"

namespace krt::decode {
namespace {

constexpr std::size_t kTopHTokens = 100;  // transformers looks at no more
// A bound that f32 rounding of a probability cannot cross.
constexpr double kBelow = 1 - 1e-6;

// To f32, as where transformers rounds.
float f32(double x) { return static_cast<float>(x); }

double descending(const Candidate& c) { return -static_cast<double>(c.score); }

// Whether `c` stands at or before the edge in the order of `key`.
bool up_to(const Keyed& edge, double key, std::uint32_t id) { return key != edge.key ? key < edge.key : id <= edge.id; }
bool up_to(const Keyed& edge, const Candidate& c) { return up_to(edge, descending(c), c.id); }

// Keeps what has at least that probability, and the scores that reach the keep-th highest one.
void cutoff(Selection& s, float probability, std::size_t keep) {
  const double total = s.total();
  s.gather(std::min(s.score_of_weight(static_cast<double>(probability) * total * kBelow), s.reached_by(keep)));
  const Keyed last = s.nth(descending, keep);
  s.keep_if([&](const Candidate& c) { return f32(c.weight / total) >= probability || descending(c) <= last.key; });
}

}  // namespace

void top_k(Selection& s, std::size_t k, Ties ties) {
  s.gather(s.reached_by(k));
  const Keyed last = s.nth(descending, k);
  s.keep_if([&](const Candidate& c) { return ties == Ties::kKeep ? descending(c) <= last.key : up_to(last, c); });
}

void top_h(Selection& s, double alpha) {
  top_k(s, kTopHTokens, Ties::kCut);
  s.sort();
  const double total = s.total();
  const double log_total = std::log(total);
  const auto entropy_of = [&](const Candidate& c) {  // -p ln(p)
    return c.weight / total * (log_total - static_cast<double>(c.score - s.max()));
  };
  double entropy = 0;
  for (const Candidate& c : s.gathered()) entropy += entropy_of(c);
  const float limit = f32(entropy * alpha);
  double cumulative = 0;
  std::size_t kept = 0;
  for (const Candidate& c : s.gathered()) {
    cumulative += entropy_of(c);
    // Where p is 0 in f32, transformers' term is NaN and nothing stays from there on.
    if (!(f32(cumulative) <= limit) || f32(c.weight / total) == 0) break;
    ++kept;
  }
  const Candidate last = s.gathered()[std::max<std::size_t>(kept, 1) - 1];
  s.keep_if([&](const Candidate& c) { return !before(last, c); });
}

void top_p(Selection& s, double p, std::size_t keep) {
  const double total = s.total();
  // A token whose weight is below this has less than 1 - p at and behind it, even if all were as heavy.
  const double weight = (1 - p) * total / static_cast<double>(s.vocabulary()) * kBelow;
  s.gather(std::min(s.score_of_weight(weight), s.reached_by(keep)));
  const float dropped = f32(1 - p);
  const Keyed nucleus =
      s.edge(descending, [&](double cumulative) { return f32((total - cumulative) / total) <= dropped; });
  const Keyed kept = s.nth(descending, keep);
  s.keep_if([&](const Candidate& c) { return up_to(nucleus, c) || up_to(kept, c); });
}

void min_p(Selection& s, double p, std::size_t keep) {
  const double total = s.total();
  const float bound = f32(p) * f32(1 / total);
  s.gather(std::min(s.score_of_weight(p * kBelow), s.reached_by(keep)));
  const Keyed kept = s.nth(descending, keep);
  s.keep_if([&](const Candidate& c) { return f32(c.weight / total) >= bound || up_to(kept, c); });
}

void typical_p(Selection& s, double mass, std::size_t keep) {
  s.gather_all();
  const double total = s.total();
  const double entropy = s.entropy();
  const double log_total = std::log(total);
  const auto surprise = [&](const Candidate& c) {
    return std::fabs(log_total - static_cast<double>(c.score - s.max()) - entropy);
  };
  const float enough = f32(mass);
  const Keyed last = s.edge(surprise, [&](double cumulative) { return f32(cumulative / total) >= enough; });
  const Keyed kept = s.nth(surprise, keep);
  s.keep_if([&](const Candidate& c) { return surprise(c) <= last.key || up_to(kept, surprise(c), c.id); });
}

void epsilon_cutoff(Selection& s, double epsilon, std::size_t keep) { cutoff(s, f32(epsilon), keep); }

void eta_cutoff(Selection& s, double epsilon, std::size_t keep) {
  const float e = f32(epsilon);
  cutoff(s, std::min(e, std::sqrt(e) * f32(std::exp(-s.entropy()))), keep);
}

}  // namespace krt::decode
