#pragma once
// Selection: the tokens of one row that are still in, narrowed by one filter after another.
//
// A fresh selection is the whole row and holds no token: it knows the block maxima and, when asked, the softmax sums.
// The first filter gathers only the tokens that it could keep (a score that the others cannot reach is known before
// any of them is looked at); from then on the selection is that short list, in the order of the vocabulary.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "modules/decode/sample/edge.h"
#include "modules/decode/sample/row.h"

namespace krt::decode {

// Draw order: descending score, ties to the lower id.
inline bool before(const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}

// Its key.
inline double descending(const Candidate& c) { return -static_cast<double>(c.score); }

// Memory that one caller's draws share, so that a steady decode loop allocates nothing.
struct SampleWorkspace {
  std::vector<float> penalised;
  std::vector<std::uint32_t> counts;  // of each id in the history; all 0 between calls
  std::vector<float> block_max;
  std::vector<float> order;
  std::vector<Candidate> candidates;
  std::vector<Candidate> scratch;
  Hits hits;
};

// A factor that the roundings of a weight and of a probability cannot outweigh.
inline constexpr double kBelow = 1 - 1e-6;

class Selection {
 public:
  Selection(const RowPasses& passes, SampleWorkspace& workspace) : passes_(passes), work_(workspace) {}

  // Looks at the row, which must outlive the selection. temperature > 0 and finite. A status of
  // modules/decode/contract.
  std::int64_t open(std::span<const float> logits, float temperature);

  [[nodiscard]] std::size_t vocabulary() const { return logits_.size(); }
  [[nodiscard]] float max() const { return max_; }
  [[nodiscard]] std::uint32_t argmax() const;
  [[nodiscard]] std::size_t count() const;  // tokens in; those of -infinity are out from the start

  // Over the tokens that are in.
  double total();    // sum of weights
  double entropy();  // of their softmax, in nats

  // A score that at least `k` tokens reach, as high as is known without looking at any.
  [[nodiscard]] float reached_by(std::size_t k);
  // The lowest score whose weight may be `weight` or more.
  [[nodiscard]] float score_of_weight(double weight) const;
  // Lists the tokens of at least that score, where the row is still whole. The others remain in: the filter that
  // asked for the list must put them out.
  void gather(float at_least);
  void gather_all();
  // The weight of those that are in but not listed; 0 exactly where all are.
  double rest();
  // Lists the best tokens: `keep` at least, and so many that less than `tail` of the weight is left.
  void gather_but(double tail, std::size_t keep);
  [[nodiscard]] std::span<const Candidate> gathered() const { return work_.candidates; }

  // The first candidate in ascending order of key(candidate) at which stop(cumulative weight) holds, else the last.
  template <class Key, class Weight, class Stop>
  Candidate edge(const Key& key, const Weight& weight, const Stop& stop) {
    return find_edge(gathered(), scratch(), key, weight, stop);
  }
  // The k-th candidate (from 1; the last where there are fewer) in ascending order of key(candidate).
  template <class Key>
  Candidate nth(const Key& key, std::size_t k) {
    const auto reached = [&](double count) { return count >= static_cast<double>(k); };
    return find_edge(
        gathered(), scratch(), key, [](const Candidate&) { return 1.0; }, reached);
  }

  // Puts out every token that was not gathered, and every candidate without `keep`.
  template <class Keep>
  void keep_if(const Keep& keep) {
    std::size_t n = 0;
    for (const Candidate& c : work_.candidates) {
      const bool in = keep(c);
      work_.candidates[n] = c;
      n += in ? 1 : 0;
    }
    work_.candidates.resize(n);
    whole_ = false;
    complete_ = true;
    total_.reset();
  }

  // The draw: the first token in draw order with u < cumulative probability, else the last.
  Candidate draw(double u);
  // Lists what is in, in draw order.
  void sort();

 private:
  Candidate* scratch() {
    if (work_.scratch.size() < work_.candidates.size()) work_.scratch.resize(work_.candidates.size());
    return work_.scratch.data();
  }

  const RowPasses& passes_;
  SampleWorkspace& work_;
  std::span<const float> logits_;
  float temperature_ = 1;
  float max_ = 0;
  bool all_finite_ = true;
  bool whole_ = true;      // nothing was put out yet
  bool complete_ = false;  // all that is in is listed
  bool gathered_ = false;  // candidates hold what is in, or may be
  std::optional<double> total_;
};

}  // namespace krt::decode
