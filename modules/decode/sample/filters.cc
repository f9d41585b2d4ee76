#include "modules/decode/sample/filters.h"

namespace krt::decode {
namespace {

constexpr std::size_t kTopHTokens = 100;  // transformers looks at no more
// The logarithm of a candidate's weight; exact, and not bounded below as the weight is.
double log_weight(const Selection& s, const Candidate& c) {
  return static_cast<double>(c.score) - static_cast<double>(s.max());
}
// To f32, as where transformers rounds.
float f32(double x) { return static_cast<float>(x); }

// Keeps what has at least that probability, and the scores that reach the keep-th highest one.
void cutoff(Selection& s, double probability, std::size_t keep) {
  const double total = s.total();
  s.gather(std::min(s.score_of_weight(probability * total * kBelow), s.reached_by(keep)));
  const Candidate last = s.nth(descending, keep);
  s.keep_if([&](const Candidate& c) { return c.weight / total >= probability || c.score >= last.score; });
}

}  // namespace

void top_k(Selection& s, std::size_t k, Ties ties) {
  s.gather(s.reached_by(k));
  const Candidate last = s.nth(descending, k);
  s.keep_if([&](const Candidate& c) { return ties == Ties::kKeep ? c.score >= last.score : !before(last, c); });
}

void top_h(Selection& s, double alpha) {
  top_k(s, kTopHTokens, Ties::kCut);
  s.sort();
  const double total = s.total();
  const double log_total = std::log(total);
  const auto entropy_of = [&](const Candidate& c) {  // -p ln(p)
    return c.weight / total * (log_total - log_weight(s, c));
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
  s.gather_but((1 - p) * total, keep);
  const auto probability = [&](const Candidate& c) { return static_cast<double>(f32(c.weight / total)); };
  double all = s.rest() / total;
  for (const Candidate& c : s.gathered()) all += probability(c);
  const float dropped = f32(1 - p);
  const Candidate nucleus =
      s.edge(descending, probability, [&](double cumulative) { return f32(all - cumulative) <= dropped; });
  const Candidate kept = keep > 1 ? s.nth(descending, keep) : nucleus;
  s.keep_if([&](const Candidate& c) { return !before(nucleus, c) || !before(kept, c); });
}

void min_p(Selection& s, double p, std::size_t keep) {
  s.gather(std::min(s.score_of_weight(p * kBelow), s.reached_by(keep)));
  const Candidate kept = s.nth(descending, keep);
  s.keep_if([&](const Candidate& c) { return c.weight >= p || !before(kept, c); });
}

void typical_p(Selection& s, double mass, std::size_t keep) {
  s.gather_all();
  const double total = s.total();
  const double entropy = s.entropy();
  const double log_total = std::log(total);
  const auto surprise = [&](const Candidate& c) { return std::fabs(log_total - log_weight(s, c) - entropy); };
  const auto weight = [](const Candidate& c) { return c.weight; };
  const Candidate last = s.edge(surprise, weight, [&](double cumulative) { return cumulative / total >= mass; });
  const Candidate kept = keep > 1 ? s.nth(surprise, keep) : last;
  const double furthest = surprise(last);
  const double kept_furthest = surprise(kept);
  s.keep_if([&](const Candidate& c) {
    const double x = surprise(c);
    return x <= furthest || x < kept_furthest || (x == kept_furthest && c.id <= kept.id);
  });
}

void epsilon_cutoff(Selection& s, double epsilon, std::size_t keep) { cutoff(s, epsilon, keep); }

void eta_cutoff(Selection& s, double epsilon, std::size_t keep) {
  cutoff(s, std::min(epsilon, std::sqrt(epsilon) * std::exp(-s.entropy())), keep);
}

}  // namespace krt::decode
