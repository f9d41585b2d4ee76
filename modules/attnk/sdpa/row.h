#pragma once
// One query row of attention in f64: the steps that sdpa, flash, tiled and backward are made of, each written once.
//
// Sums start at +0.0 and run in the order of their index; a product is rounded before it is added. A key whose score is
// -infinity is masked: it has probability 0. A value row of probability 0 is not read. A row without a visible key has
// the output 0 and the log-sum-exp -infinity. A NaN score, or one of +infinity, makes the whole row NaN.

#include <cstddef>
#include <limits>
#include <span>

namespace krt::attnk {

inline constexpr double kMaskedScore = -std::numeric_limits<double>::infinity();

// Rows of d values that lie `stride` values apart.
struct Rows {
  const double* data;
  std::size_t stride;
  const double* operator[](std::size_t i) const { return data + i * stride; }
  [[nodiscard]] Rows from(std::size_t i) const { return {data + i * stride, stride}; }
};

double dot(const double* a, const double* b, std::size_t n);

// scores[j] = scale * (q . k[j]) + bias[j]; bias may be null. A key whose bias is -infinity is not read.
void score_row(const double* q, Rows k, std::size_t d, double scale, const double* bias, std::span<double> scores);

// scores become exp(score - max) / sum, in place; returns max + log(sum).
double softmax_row(std::span<double> scores);

// out = sum over j of p[j] * v[j], where p[j] is not 0.
void weigh_row(std::span<const double> p, Rows v, std::size_t d, double* out);

// The same softmax, one block of keys after another (Milakov and Gimelshein, 2018). The state of a row is the maximum
// so far, the sum of exp(score - max) and the weighted sum of value rows; a block that raises the maximum scales both.
class OnlineRow {
 public:
  // `out` holds d values; it is the weighted sum until finish() divides it.
  OnlineRow(double* out, std::size_t d);
  // Takes a block of scores, which are overwritten, and its value rows.
  void add(std::span<double> scores, Rows v);
  // Divides; returns the log-sum-exp.
  double finish();

 private:
  double* out_;
  std::size_t d_;
  double max_ = kMaskedScore, sum_ = 0;
};

}  // namespace krt::attnk
