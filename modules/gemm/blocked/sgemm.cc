#include "modules/gemm/blocked/sgemm.h"

#include <algorithm>
#include <cmath>

#include "modules/agreement.h"
#include "modules/gemm/contract/contract.h"

namespace krt::gemm {
namespace {

// Blocks of f64: B's block stays in a core's L2 (1 MiB), A's in what is left of it, one panel of each in L1.
constexpr std::size_t kBlockK = 256, kBlockN = 512, kBlockM = 64;
static_assert(kBlockN % kTileColumns == 0 && kBlockM % kTileRows == 0);

// A matrix that is read as stored or transposed.
struct Operand {
  const double* data;
  std::size_t row_step, column_step;
  Operand(std::span<const double> m, std::size_t rows, std::size_t columns, bool transposed)
      : data(m.data()), row_step(transposed ? 1 : columns), column_step(transposed ? rows : 1) {}
  double operator()(std::size_t i, std::size_t j) const { return data[i * row_step + j * column_step]; }
};

// Copies cell(p, s) to panels of `width`: packed[panel][p][s]; what a last panel has too many is zero.
template <class Cell>
void pack(std::size_t depth, std::size_t count, std::size_t width, const Cell& cell, double* packed) {
  for (std::size_t first = 0; first < count; first += width) {
    const std::size_t used = std::min(width, count - first);
    for (std::size_t p = 0; p < depth; ++p) {
      for (std::size_t s = 0; s < used; ++s) *packed++ = cell(p, first + s);
      for (std::size_t s = used; s < width; ++s) *packed++ = 0;
    }
  }
}

// One thread's part of C: its rows and columns, all of k.
class Part {
 public:
  Part(const Context& context, Operand a, Operand b, std::size_t n, std::size_t k, GemmTile* tile, double* c)
      : context_(context), a_(a), b_(b), n_(n), k_(k), tile_(tile), c_(c) {
    const std::size_t depth = std::min(k, kBlockK);
    packed_a_.resize(depth * kBlockM);
    packed_b_.resize(depth * std::min((n + kTileColumns - 1) / kTileColumns * kTileColumns, kBlockN));
  }

  // Blocks of k are taken in order and go on from the sums in C, so that blocking changes no bit.
  void multiply(Range rows, Range columns) {
    if (rows.begin == rows.end) return;
    for (std::size_t j = columns.begin; j < columns.end; j += kBlockN)
      for (std::size_t p = 0; p < k_; p += kBlockK)
        block_of_b(rows, {j, std::min(j + kBlockN, columns.end)}, {p, std::min(p + kBlockK, k_)});
  }

 private:
  void block_of_b(Range rows, Range columns, Range depth) {
    const std::size_t d = depth.end - depth.begin;
    pack(
        d, columns.end - columns.begin, kTileColumns,
        [&](std::size_t p, std::size_t s) { return b_(depth.begin + p, columns.begin + s); }, packed_b_.data());
    for (std::size_t i = rows.begin; i < rows.end; i += kBlockM) {
      context_.checkpoint();
      const Range block{i, std::min(i + kBlockM, rows.end)};
      pack(
          d, block.end - block.begin, kTileRows,
          [&](std::size_t p, std::size_t s) { return a_(block.begin + s, depth.begin + p); }, packed_a_.data());
      for (std::size_t j = columns.begin; j < columns.end; j += kTileColumns)
        for (std::size_t r = block.begin; r < block.end; r += kTileRows)
          add_tile(r, std::min(kTileRows, block.end - r), j, std::min(kTileColumns, columns.end - j),
                   &packed_a_[(r - block.begin) * d], &packed_b_[(j - columns.begin) * d], d);
    }
  }

  // Through a whole tile of its own, so that a cut one writes nothing outside C.
  void add_tile(std::size_t i, std::size_t rows, std::size_t j, std::size_t columns, const double* a, const double* b,
                std::size_t depth) {
    alignas(64) double tile[kTileRows * kTileColumns] = {};
    for (std::size_t r = 0; r < rows; ++r) std::copy_n(&c_[(i + r) * n_ + j], columns, tile + r * kTileColumns);
    tile_(a, b, depth, tile);
    for (std::size_t r = 0; r < rows; ++r) std::copy_n(tile + r * kTileColumns, columns, &c_[(i + r) * n_ + j]);
  }

  const Context& context_;
  Operand a_, b_;
  std::size_t n_, k_;
  GemmTile* tile_;
  double* c_;
  std::vector<double> packed_a_, packed_b_;
};

std::int64_t check_sgemm(std::span<const double> a, std::span<const double> b, std::int64_t m, std::int64_t n,
                         std::int64_t k, double alpha, double beta) {
  const std::int64_t status = gemm_dims_check(m, n, k, std::ssize(a), std::ssize(b));
  if (status == kEmptyDimension || status == kDimensionTooLarge) return status;
  if (!gemm_work_fits(m, n, k, kMaxFlops)) return kDimensionTooLarge;
  if (status != kOk) return status;
  return gemm_scalars_ok(alpha, beta) ? kOk : kScalarNotFinite;
}

}  // namespace

GemmResult sgemm_flat(Context& context, std::span<const double> a, std::span<const double> b, std::int64_t m,
                      std::int64_t n, std::int64_t k, double alpha, double beta, bool trans_a, bool trans_b) {
  const std::int64_t status = check_sgemm(a, b, m, n, k, alpha, beta);
  if (status != kOk) return {{}, 0, 0, 0, 0, status};
  const auto rows = static_cast<std::size_t>(m), columns = static_cast<std::size_t>(n),
             depth = static_cast<std::size_t>(k);
  const Variant<GemmTile>& variant = pick(context, gemm_tile_variants(), {m, n, k});
  const bool parallel = context.arena.threads() > 1 && !gemm_work_fits(m, n, k, kGemmParallelMinFlops - 1);
  const std::size_t parts = parallel ? static_cast<std::size_t>(context.arena.threads()) : 1;
  std::vector<double> c(rows * columns);
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = rows > columns ? band(rows, parts, part, kTileRows) : Range{0, rows};
    const Range s = rows > columns ? Range{0, columns} : band(columns, parts, part, kTileColumns);
    Part(context, Operand(a, rows, depth, trans_a), Operand(b, depth, columns, trans_b), columns, depth, variant.run,
         c.data())
        .multiply(r, s);
    for (std::size_t i = r.begin; i < r.end; ++i)
      for (std::size_t j = s.begin; j < s.end; ++j) c[i * columns + j] *= alpha;
  });
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return {std::move(c), m, n, parallel ? kParallel : kSerial, flops, kOk};
}

RefDelta gemm_reference_delta_flat(Context& context, std::span<const double> a, std::span<const double> b,
                                   std::int64_t m, std::int64_t n, std::int64_t k) {
  const bool too_much = check_dims(kDimRule, {m, n, k}) == kOk && !gemm_work_fits(m, n, k, kMaxReferenceFlops);
  if (too_much) return {0, 0, false, 0, kDimensionTooLarge};
  const GemmResult got = sgemm_flat(context, a, b, m, n, k, 1, 0, false, false);
  if (got.status != kOk) return {0, 0, false, 0, got.status};
  const auto columns = static_cast<std::size_t>(n), depth = static_cast<std::size_t>(k);
  Agreement agreement;
  for (std::size_t cell = 0; cell < got.c.size(); ++cell) {
    context.checkpoint();
    const std::size_t i = cell / columns, j = cell % columns;
    long double sum = 0, magnitude = 0;
    for (std::size_t p = 0; p < depth; ++p) {
      const long double term = static_cast<long double>(a[i * depth + p]) * b[p * columns + j];
      sum += term;
      magnitude += std::fabs(term);
    }
    agreement.add(got.c[cell], static_cast<double>(sum),
                  static_cast<double>(k + 2) * 0x1p-53 * static_cast<double>(magnitude));
  }
  return agreement.result<RefDelta>(kOk);
}

TilePlan gemm_tile_plan(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t cache_bytes) {
  const std::int64_t status = check_dims(kDimRule, {m, n, k});
  if (status != kOk) return {0, 0, 0, 0, status};
  const auto cells = [&](std::int64_t side) {  // of the three blocks; sides are at most 2^24, so it is below 2^50
    const std::int64_t tm = std::min(side, m), tn = std::min(side, n), tk = std::min(side, k);
    return tm * tk + tk * tn + tm * tn;
  };
  const auto fits = [&](std::int64_t side) { return cells(side) <= cache_bytes / 8; };
  if (cache_bytes < 0 || !fits(1)) return {0, 0, 0, 0, kBadCache};
  std::int64_t side = 1;  // the largest that fits, bit by bit from the top
  for (std::int64_t bit = kMaxDim; bit > 0; bit /= 2)
    if (side + bit <= kMaxDim && fits(side + bit)) side += bit;
  const std::int64_t tm = std::min(side, m), tn = std::min(side, n), tk = std::min(side, k);
  const double flops = 2 * static_cast<double>(tm) * static_cast<double>(tn) * static_cast<double>(tk);
  return {tm, tn, tk, flops / (8 * static_cast<double>(cells(side))), kOk};
}

}  // namespace krt::gemm
