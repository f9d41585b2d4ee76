#include "modules/llmk/gemv_fast/gemv_fast.h"

#include <algorithm>

#include "modules/gemm/blocked/blocked.h"
#include "modules/llmk/contract/contract.h"
#include "runtime/registry/module_builder.h"

namespace krt::llmk {
namespace {

// Rows per pass over y. y is read and written once for every kRowsPerPass rows of a instead of once for every row,
// and the rows are as many streams for the prefetcher to follow.
constexpr std::size_t kRowsPerPass = 8;
// One cache line, in values. No two bands write the same line of y.
constexpr std::size_t kLine = 8;
// How far ahead each row is asked for, in values: 12 GB/s of one core become 13.5 (at 32 or 128 it is less).
constexpr std::size_t kAhead = 64;

// y[j] += a[0,j] x[0] + ... + a[kRows-1,j] x[kRows-1], added one by one in that order.
template <std::size_t kRows>
void add_rows(const double* a, const double* x, std::size_t n, Range columns, double* __restrict y) {
  const auto add_column = [&](std::size_t j) {
    double sum = y[j];
    for (std::size_t r = 0; r < kRows; ++r) sum += a[r * n + j] * x[r];
    y[j] = sum;
  };
  std::size_t j = columns.begin;
  for (; j + kLine <= columns.end; j += kLine) {
    const std::size_t ahead = std::min(j + kAhead, n - 1);
    for (std::size_t r = 0; r < kRows; ++r) __builtin_prefetch(a + r * n + ahead);
    for (std::size_t k = 0; k < kLine; ++k) add_column(j + k);
  }
  for (; j < columns.end; ++j) add_column(j);
}

void gemv_columns(const double* a, std::span<const double> x, std::size_t n, Range columns, double* y) {
  std::size_t i = 0;
  for (; i + kRowsPerPass <= x.size(); i += kRowsPerPass) add_rows<kRowsPerPass>(a + i * n, &x[i], n, columns, y);
  for (; i < x.size(); ++i) add_rows<1>(a + i * n, &x[i], n, columns, y);
}

}  // namespace

ParallelGemvResult gemv_transposed_parallel_flat(Context& context, std::span<const double> a, std::span<const double> x,
                                                 std::int64_t m, std::int64_t n) {
  const std::int64_t status = llmk_gemv_dims_check(m, n, std::ssize(a), std::ssize(x));
  if (status != kOk) return {{}, 0, status};
  if (m * n < kGemvParallelMinCells) return {gemm::gemv_flat(context, a, x, m, n, true).c, n, kOk};
  const auto columns = static_cast<std::size_t>(n);
  std::vector<double> y(columns);
  const auto parts = static_cast<std::size_t>(context.arena.threads());
  context.arena.parallel(parts, [&](std::size_t part) {
    gemv_columns(a.data(), x, columns, band(columns, parts, part, kLine), y.data());
  });
  return {std::move(y), n, kOk};
}

void register_gemv_fast(Registry& registry) {
  ModuleBuilder m(registry, "llmk.gemv_fast", "The matrix-vector product of a decode step's projections");
  m.function<gemv_transposed_parallel_flat>("gemv_transposed_parallel_flat",
                                            "Transposed matrix-vector product, its columns shared out over the cores",
                                            {{"a", "the matrix, row-major, exactly m * n values"},
                                             {"x", "the vector, exactly m values"},
                                             {"m", "rows of a, 1 to 2^24"},
                                             {"n", "columns of a, 1 to 2^24"}})
      .statuses(kStatuses)
      .example("[[1,2,3,4,5,6],[1,1],2,3]");
}

}  // namespace krt::llmk
