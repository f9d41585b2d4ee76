#include "modules/attnk/sdpa/row.h"

#include <algorithm>
#include <cmath>

namespace krt::attnk {
namespace {

// NaN where any score is NaN.
double maximum(std::span<const double> scores) {
  double max = kMaskedScore;
  for (const double s : scores) {
    if (std::isnan(s)) return s;
    max = std::max(max, s);
  }
  return max;
}

}  // namespace

double dot(const double* a, const double* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void score_row(const double* q, Rows k, std::size_t d, double scale, const double* bias, std::span<double> scores) {
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const bool masked = bias != nullptr && bias[j] == kMaskedScore;
    scores[j] = masked ? kMaskedScore : scale * dot(q, k[j], d) + (bias != nullptr ? bias[j] : 0);
  }
}

double softmax_row(std::span<double> scores) {
  const double max = maximum(scores);
  if (max == kMaskedScore) {
    std::fill(scores.begin(), scores.end(), 0.0);
    return kMaskedScore;
  }
  double sum = 0;
  for (double& s : scores) sum += s = std::exp(s - max);
  for (double& s : scores) s /= sum;
  return max + std::log(sum);
}

void weigh_row(std::span<const double> p, Rows v, std::size_t d, double* out) {
  std::fill_n(out, d, 0.0);
  for (std::size_t j = 0; j < p.size(); ++j)
    if (p[j] != 0)
      for (std::size_t c = 0; c < d; ++c) out[c] += p[j] * v[j][c];
}

OnlineRow::OnlineRow(double* out, std::size_t d) : out_(out), d_(d) { std::fill_n(out, d, 0.0); }

void OnlineRow::add(std::span<double> scores, Rows v) {
  const double block_max = maximum(scores);
  if (block_max == kMaskedScore) return;
  if (!(block_max <= max_)) {
    const double shrink = max_ == kMaskedScore ? 0 : std::exp(max_ - block_max);
    sum_ *= shrink;
    for (std::size_t c = 0; c < d_; ++c) out_[c] *= shrink;
    max_ = block_max;
  }
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double p = std::exp(scores[j] - max_);
    sum_ += p;
    if (p != 0)
      for (std::size_t c = 0; c < d_; ++c) out_[c] += p * v[j][c];
  }
}

double OnlineRow::finish() {
  if (max_ == kMaskedScore) return kMaskedScore;
  for (std::size_t c = 0; c < d_; ++c) out_[c] /= sum_;
  return max_ + std::log(sum_);
}

}  // namespace krt::attnk
