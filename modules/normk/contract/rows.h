#pragma once
// What the norms of this family share: a matrix as rows, shared out over the arena, and the gradient check of a norm.

#include <span>
#include <vector>

#include "modules/agreement.h"
#include "modules/checks.h"
#include "modules/normk/contract/contract.h"
#include "runtime/exec/context.h"

namespace krt::normk {

struct Rows {
  std::size_t count, width;
  Rows(std::int64_t n_rows, std::int64_t n_cols)
      : count(static_cast<std::size_t>(n_rows)), width(static_cast<std::size_t>(n_cols)) {}

  [[nodiscard]] std::span<const double> of(std::span<const double> matrix, std::size_t i) const {
    return matrix.subspan(i * width, width);
  }
  [[nodiscard]] std::span<double> of(std::vector<double>& matrix, std::size_t i) const {
    return std::span(matrix).subspan(i * width, width);
  }

  // body(i) for every row.
  template <class Body>
  void for_each(Context& context, const Body& body) const {
    const std::size_t parts = parts_of(context);
    context.arena.parallel(parts, [&](std::size_t part) {
      const Range r = band(count, parts, part);
      for (std::size_t i = r.begin; i < r.end; ++i) body(i);
    });
  }

  // sum_i term(i, j) for every column j, from +0.0 in the order of i.
  template <class Term>
  std::vector<double> sum_columns(Context& context, const Term& term) const {
    std::vector<double> sums(width);
    const std::size_t parts = parts_of(context);
    context.arena.parallel(parts, [&](std::size_t part) {
      const Range r = band(width, parts, part, 8);  // whole cache lines of sums
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = r.begin; j < r.end; ++j) sums[j] += term(i, j);
    });
    return sums;
  }

 private:
  [[nodiscard]] std::size_t parts_of(Context& context) const {
    return count * width < kParallelMinCells ? 1 : static_cast<std::size_t>(context.arena.threads());
  }
};

inline std::vector<double> loss_weights(std::size_t n) {
  std::vector<double> w(n);
  for (std::size_t i = 0; i < n; ++i) w[i] = loss_weight(i);
  return w;
}

// One norm of one row, as the gradient check sees it: forward(row, gamma, y) fills y and answers how large the row's
// values are beside their spread, in units of the spread: what a y may be off by is `ulps` 2^-53 (|y| + that |gamma|).
// A row's y depends on that row's x; a column's y depends on that column's gamma without a sum over others.
template <class Forward>
Loss row_loss(std::span<const double> w, std::span<const double> row, std::span<const double> gamma, Range columns,
              double ulps, std::span<double> y, const Forward& forward) {
  const double magnitude = forward(row, gamma, y);
  Loss loss{0, 0};
  for (std::size_t j = columns.begin; j < columns.end; ++j) {
    loss.value += w[j] * y[j];
    loss.rounding += std::fabs(w[j]) * (std::fabs(y[j]) + std::fabs(gamma[j]) * magnitude) * ulps * 0x1p-53;
  }
  return loss;
}

// dx and dgamma of sum(w * y) against its slopes.
template <class Forward>
void compare_slopes(const Rows& rows, std::span<const double> x, std::span<const double> gamma,
                    std::span<const double> w, double step, const Forward& forward, std::span<const double> dx,
                    std::span<const double> dgamma, Agreement& agreement) {
  const double ulps = 2 * static_cast<double>(rows.width + rows.count) + 32;
  std::vector<double> row(rows.width), scale(gamma.begin(), gamma.end()), y(rows.width);
  for (std::size_t i = 0; i < rows.count; ++i) {
    row.assign(rows.of(x, i).begin(), rows.of(x, i).end());
    const auto loss = [&] { return row_loss(rows.of(w, i), row, scale, {0, rows.width}, ulps, y, forward); };
    for (std::size_t j = 0; j < rows.width; ++j) {
      const Slope slope = central_slope(row[j], step, loss);
      agreement.add(dx[i * rows.width + j], slope.value, slope.tolerance);
    }
  }
  for (std::size_t j = 0; j < rows.width; ++j) {
    const auto loss = [&] {
      Loss total{0, 0};
      for (std::size_t i = 0; i < rows.count; ++i) {
        const Loss here = row_loss(rows.of(w, i), rows.of(x, i), scale, {j, j + 1}, ulps, y, forward);
        total.value += here.value;
        total.rounding += here.rounding;
      }
      return total;
    };
    const Slope slope = central_slope(scale[j], step, loss);
    agreement.add(dgamma[j], slope.value, slope.tolerance);
  }
}

}  // namespace krt::normk
