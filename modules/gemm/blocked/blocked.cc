#include "modules/gemm/blocked/blocked.h"

#include "modules/gemm/blocked/sgemm.h"
#include "modules/gemm/contract/contract.h"
#include "runtime/registry/module_builder.h"

namespace krt::gemm {
namespace {

// Rows are summed eight at a time: one row's additions wait for each other (4 cycles each), eight rows' do not.
constexpr std::size_t kRowsAtOnce = 8;

template <std::size_t kRows>
void dot_rows(const double* a, std::span<const double> x, double* c) {
  std::array<double, kRows> sum{};
  for (std::size_t j = 0; j < x.size(); ++j)
    for (std::size_t r = 0; r < kRows; ++r) sum[r] += a[r * x.size() + j] * x[j];
  for (std::size_t r = 0; r < kRows; ++r) c[r] = sum[r];
}

void gemv_rows(const double* a, std::span<const double> x, Range rows, double* c) {
  std::size_t i = rows.begin;
  for (; i + kRowsAtOnce <= rows.end; i += kRowsAtOnce) dot_rows<kRowsAtOnce>(a + i * x.size(), x, c + i);
  for (; i < rows.end; ++i) dot_rows<1>(a + i * x.size(), x, c + i);
}

std::int64_t check_gemv(std::span<const double> a, std::span<const double> x, std::int64_t m, std::int64_t n,
                        bool trans) {
  if (const std::int64_t status = check_dims(kDimRule, {m, n}); status != kOk) return status;
  return check_lengths(kOk, {{a.size(), m * n, kALengthMismatch}, {x.size(), trans ? m : n, kXLengthMismatch}});
}

}  // namespace

void gemv_transposed_columns(const double* a, std::span<const double> x, std::size_t n, std::size_t begin,
                             std::size_t end, double* c) {
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = begin; j < end; ++j) c[j] += a[i * n + j] * x[i];
}

GemmResult gemv_flat(Context& context, std::span<const double> a, std::span<const double> x, std::int64_t m,
                     std::int64_t n, bool trans) {
  const std::int64_t status = check_gemv(a, x, m, n, trans);
  if (status != kOk) return {{}, 0, 0, 0, 0, status};
  const auto rows = static_cast<std::size_t>(m), cols = static_cast<std::size_t>(n);
  std::vector<double> c(trans ? cols : rows);
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n);
  if (trans) {
    gemv_transposed_columns(a.data(), x, cols, 0, cols, c.data());
    return {std::move(c), n, 1, kSerial, flops, kOk};
  }
  const bool parallel = a.size() >= kGemvParallelMinCells && context.arena.threads() > 1;
  const std::size_t parts = parallel ? static_cast<std::size_t>(context.arena.threads()) : 1;
  context.arena.parallel(
      parts, [&](std::size_t part) { gemv_rows(a.data(), x, band(rows, parts, part, kRowsAtOnce), c.data()); });
  return {std::move(c), m, 1, parallel ? kParallel : kSerial, flops, kOk};
}

void register_blocked(Registry& registry) {
  ModuleBuilder m(registry, "gemm.blocked", "Matrix products in f64, in one stated order of sums");
  m.function<gemv_flat>("gemv_flat", "Matrix-vector product, plain or transposed",
                        {{"a", "the matrix, row-major, exactly m * n values"},
                         {"x", "the vector: exactly n values, or m where trans"},
                         {"m", "rows of a, 1 to 2^24"},
                         {"n", "columns of a, 1 to 2^24"},
                         {"trans", "whether to multiply by the transpose of a"}})
      .statuses(kStatuses)
      .example("[[1,2,3,4,5,6],[1,1],2,3,true]");
  m.function<gemm_reference_delta_flat>("gemm_reference_delta_flat", "A product against sums in long double",
                                        {{"a", "left operand, row-major, exactly m * k values"},
                                         {"b", "right operand, row-major, exactly k * n values"},
                                         {"m", "rows of a and of the result"},
                                         {"n", "columns of b and of the result"},
                                         {"k", "columns of a and rows of b"}})
      .statuses(kStatuses)
      .example("[[1,2,3,4],[5,6,7,8],2,2,2]");
  m.function<gemm_tile_plan>("gemm_tile_plan", "The largest tile whose three blocks fit in a cache",
                             {{"m", "rows of the result, 1 to 2^24"},
                              {"n", "columns of the result, 1 to 2^24"},
                              {"k", "length of the sums, 1 to 2^24"},
                              {"cache_bytes", "size of the cache, at least 24"}})
      .statuses(kStatuses)
      .example("[512,512,512,1048576]");
  m.function<sgemm_flat>("sgemm_flat", "Matrix product alpha * op(a) * op(b) in f64",
                         {{"a", "left operand, row-major, exactly m * k values"},
                          {"b", "right operand, row-major, exactly k * n values"},
                          {"m", "rows of the result, 1 to 2^24"},
                          {"n", "columns of the result, 1 to 2^24"},
                          {"k", "length of the sums, 1 to 2^24"},
                          {"alpha", "factor of the product, finite"},
                          {"beta", "factor of the old result, which is zeros: finite, without effect"},
                          {"trans_a", "whether a is stored as k by m"},
                          {"trans_b", "whether b is stored as n by k"}})
      .statuses(kStatuses)
      .variants(infos(gemm_tile_variants()), "m x n x k")
      .example("[[1,2,3,4],[5,6,7,8],2,2,2,1.0,0.0,false,false]");
}

}  // namespace krt::gemm
