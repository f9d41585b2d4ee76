#include "modules/gemm/quantized/quantized.h"

#include <algorithm>
#include <cmath>

#include "modules/agreement.h"
#include "modules/gemm/blocked/sgemm.h"
#include "modules/gemm/contract/contract.h"
#include "runtime/registry/module_builder.h"

namespace krt::gemm {
namespace {

// W[rows, width] of codes times X[width, columns].
struct Problem {
  std::span<const std::int64_t> codes;
  std::span<const double> scales, x;
  std::int64_t rows, width, columns, block;
};

// The least and the greatest code.
struct CodeRange {
  std::int64_t least, greatest;
};
constexpr CodeRange kNf4Codes{0, std::ssize(kNf4) - 1};

std::int64_t check(const Problem& p, CodeRange range) {
  if (const std::int64_t status = check_dims(kDimRule, {p.rows, p.width, p.columns}); status != kOk) return status;
  if (p.rows * p.columns > kMaxCells || !gemm_work_fits(p.rows, p.columns, p.width, kMaxFlops))
    return kDimensionTooLarge;
  if (p.block < 1 || p.width % p.block != 0) return kBadBlock;
  if (range.least == range.greatest) return kBadBits;
  const std::int64_t status =
      check_lengths(kOk, {{p.codes.size(), p.rows * p.width, kCodesLengthMismatch},
                          {p.scales.size(), p.rows * (p.width / p.block), kScalesLengthMismatch},
                          {p.x.size(), p.width * p.columns, kXLengthMismatch}});
  if (status != kOk) return status;
  const auto outside = [&](std::int64_t code) { return code < range.least || code > range.greatest; };
  return std::any_of(p.codes.begin(), p.codes.end(), outside) ? kCodeValueOutOfRange : kOk;
}

// y[i, :] = sum over blocks of scale * (sum of level(code) x[j, :]); `sums` holds one block's, a value a column.
template <class Level>
void multiply_row(const Problem& p, std::size_t i, const Level& level, std::span<double> sums, double* y) {
  const auto width = static_cast<std::size_t>(p.width), columns = static_cast<std::size_t>(p.columns),
             block = static_cast<std::size_t>(p.block);
  for (std::size_t first = 0; first < width; first += block) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t j = first; j < first + block; ++j) {
      const double w = level(p.codes[i * width + j]);
      for (std::size_t c = 0; c < columns; ++c) sums[c] += w * p.x[j * columns + c];
    }
    const double scale = p.scales[i * (width / block) + first / block];
    for (std::size_t c = 0; c < columns; ++c) y[c] += scale * sums[c];
  }
}

template <class Level>
QGemmResult multiply(Context& context, const Problem& p, CodeRange range, const Level& level) {
  const std::int64_t status = check(p, range);
  if (status != kOk) return {{}, 0, 0, 0, 0, status};
  const auto rows = static_cast<std::size_t>(p.rows), columns = static_cast<std::size_t>(p.columns);
  std::vector<double> y(rows * columns);
  const double cells = static_cast<double>(p.codes.size()) * static_cast<double>(p.columns);
  const bool parallel = cells >= static_cast<double>(kGemvParallelMinCells) && context.arena.threads() > 1;
  const std::size_t parts = parallel ? static_cast<std::size_t>(context.arena.threads()) : 1;
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(rows, parts, part);
    std::vector<double> sums(r.begin < r.end ? columns : 0);
    for (std::size_t i = r.begin; i < r.end; ++i) {
      context.checkpoint();
      multiply_row(p, i, level, sums, &y[i * columns]);
    }
  });
  return {std::move(y), p.rows, p.columns, parallel ? kParallel : kSerial, 2 * cells, kOk};
}

double nf4_level(std::int64_t code) { return kNf4[static_cast<std::size_t>(code)]; }

}  // namespace

QGemmResult gemv_int_flat(Context& context, std::span<const std::int64_t> w_codes, std::span<const double> w_scales,
                          std::span<const double> x, std::int64_t m, std::int64_t n, std::int64_t block,
                          std::int64_t bits) {
  const bool known = bits >= 2 && bits <= 8;
  const std::int64_t half = known ? std::int64_t{1} << (bits - 1) : 0;
  return multiply(context, {w_codes, w_scales, x, m, n, 1, block}, {-half, known ? half - 1 : 0},
                  [](std::int64_t code) { return static_cast<double>(code); });
}

QGemmResult gemv_nf4_flat(Context& context, std::span<const std::int64_t> w_codes, std::span<const double> w_scales,
                          std::span<const double> x, std::int64_t m, std::int64_t n, std::int64_t block) {
  return multiply(context, {w_codes, w_scales, x, m, n, 1, block}, kNf4Codes, nf4_level);
}

QGemmResult gemm_nf4_flat(Context& context, std::span<const std::int64_t> w_codes, std::span<const double> w_scales,
                          std::span<const double> x, std::int64_t m, std::int64_t n, std::int64_t k,
                          std::int64_t block) {
  return multiply(context, {w_codes, w_scales, x, m, k, n, block}, kNf4Codes, nf4_level);
}

QDelta quantized_gemv_golden_delta(Context& context, std::span<const std::int64_t> w_codes,
                                   std::span<const double> w_scales, std::span<const double> x, std::int64_t m,
                                   std::int64_t n, std::int64_t block) {
  const QGemmResult got = gemv_nf4_flat(context, w_codes, w_scales, x, m, n, block);
  if (got.status != kOk) return {0, 0, false, 0, got.status};
  const auto width = static_cast<std::size_t>(n), size = static_cast<std::size_t>(block);
  Agreement agreement;
  for (std::size_t i = 0; i < got.y.size(); ++i) {
    long double sum = 0, magnitude = 0;
    for (std::size_t j = 0; j < width; ++j) {
      const long double weight =
          static_cast<long double>(w_scales[i * (width / size) + j / size]) * nf4_level(w_codes[i * width + j]);
      sum += weight * x[j];
      magnitude += std::fabs(weight * x[j]);
    }
    agreement.add(got.y[i], static_cast<double>(sum),
                  static_cast<double>(n + 4) * 0x1p-53 * static_cast<double>(magnitude));
  }
  return agreement.result<QDelta>(kOk);
}

void register_quantized(Registry& registry) {
  ModuleBuilder m(registry, "gemm.quantized", "Products with weights stored as codes and block scales, in f64");
  m.function<gemm_nf4_flat>("gemm_nf4_flat", "Matrix product with 4-bit NormalFloat weights",
                            {{"w_codes", "codes 0 to 15 of the weights, row-major, exactly m * k"},
                             {"w_scales", "one for each block of a row, exactly m * k / block"},
                             {"x", "the right operand, row-major, exactly k * n values"},
                             {"m", "rows of the weights and of the result"},
                             {"n", "columns of x and of the result"},
                             {"k", "columns of the weights and rows of x"},
                             {"block", "codes that share a scale; divides k"}})
      .statuses(kStatuses)
      .example("[[0,7,15,8],[2,4],[1,0,0,1],2,2,2,2]");
  m.function<gemv_int_flat>("gemv_int_flat", "Matrix-vector product with weights of 2 to 8 bits",
                            {{"w_codes", "signed codes of the weights, row-major, exactly m * n"},
                             {"w_scales", "one for each block of a row, exactly m * n / block"},
                             {"x", "the vector, exactly n values"},
                             {"m", "rows of the weights"},
                             {"n", "columns of the weights"},
                             {"block", "codes that share a scale; divides n"},
                             {"bits", "width of a code, 2 to 8: it lies in -2^(bits-1) to 2^(bits-1) - 1"}})
      .statuses(kStatuses)
      .example("[[-8,7,1,0],[0.5,0.25],[1,2],2,2,2,4]");
  m.function<gemv_nf4_flat>("gemv_nf4_flat", "Matrix-vector product with 4-bit NormalFloat weights",
                            {{"w_codes", "codes 0 to 15 of the weights, row-major, exactly m * n"},
                             {"w_scales", "one for each block of a row, exactly m * n / block"},
                             {"x", "the vector, exactly n values"},
                             {"m", "rows of the weights"},
                             {"n", "columns of the weights"},
                             {"block", "codes that share a scale; divides n"}})
      .statuses(kStatuses)
      .example("[[0,7,15,8],[2,4],[1,2],2,2,2]");
  m.function<quantized_gemv_golden_delta>("quantized_gemv_golden_delta",
                                          "The NormalFloat product against weights unpacked first",
                                          {{"w_codes", "codes 0 to 15 of the weights, row-major, exactly m * n"},
                                           {"w_scales", "one for each block of a row, exactly m * n / block"},
                                           {"x", "the vector, exactly n values"},
                                           {"m", "rows of the weights"},
                                           {"n", "columns of the weights"},
                                           {"block", "codes that share a scale; divides n"}})
      .statuses(kStatuses)
      .example("[[0,7,15,8],[2,4],[1,2],2,2,2]");
}

}  // namespace krt::gemm
