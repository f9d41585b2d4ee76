// Rows of a projection from memory (32 MiB of weights or more) against one column, as decode meets them, and against
// 64, as prefill does.

#include <cmath>
#include <memory>

#include "modules/quant/formats/formats.h"
#include "modules/quant/matvec/matvec.h"
#include "runtime/bench/bench.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"

namespace krt::quant {
namespace {

struct Bench {
  Bench(const Format& format, std::size_t columns, int threads) : format(format), columns(columns), context(threads) {
    const double row = static_cast<double>(kCols / format.info.values * format.info.bytes);
    rows = columns == 1 ? static_cast<std::size_t>(0x1p25 / row) : 512;
  }
  std::string check() {
    krt::testing::Rng rng(20261130);
    weights.resize(rows * static_cast<std::size_t>(kCols / format.info.values * format.info.bytes));
    for (std::uint8_t& b : weights) b = static_cast<std::uint8_t>(rng.integer(0, 255)) & 0xBBU;
    x = rng.normals<float>(columns * kCols);
    y.resize(columns * rows);
    run();
    const auto& variants = matvec_variants(format.index);
    const std::size_t row = rows - 1, bytes = weights.size() / rows;
    std::vector<float> want(columns);
    variants.back().run(weights.data() + row * bytes, 1, kCols, x.data(), columns, want.data(), 1);
    for (std::size_t j = 0; j < columns; ++j)
      if (want[j] != y[j * rows + row]) return "other values than the plain form's";
    return "";
  }
  void run() {
    const Variant<MatVec>& variant = pick(context, matvec_variants(format.index));
    const auto parts = static_cast<std::size_t>(context.arena.threads());
    context.arena.parallel(parts, [&](std::size_t part) {
      const Range r = band(rows, parts, part);
      variant.run(weights.data() + r.begin * (weights.size() / rows), r.end - r.begin, kCols, x.data(), columns,
                  y.data() + r.begin, rows);
    });
  }

  static constexpr std::int64_t kCols = 1024;
  const Format& format;
  std::size_t columns, rows = 0;
  krt::testing::TestContext context;
  std::vector<std::uint8_t> weights = {};
  std::vector<float> x = {}, y = {};
};

}  // namespace

void bench_matvec(bench::Suite& suite) {
  for (const Format& format : formats()) {
    if (!format.weights) continue;
    for (const std::size_t columns : {1, 64})
      for (const int threads : {1, 2}) {
        const auto b = std::make_shared<Bench>(format, columns, threads);
        const double row = static_cast<double>(Bench::kCols / format.info.values * format.info.bytes);
        suite.add({.name = "quant.matvec/" + std::string(format.info.name) + "/n=" + std::to_string(columns) +
                           "/threads=" + std::to_string(threads),
                   .work = columns == 1 ? static_cast<double>(b->rows) * row
                                        : 2.0 * static_cast<double>(b->rows * Bench::kCols * columns),
                   .ceiling = columns == 1 ? bench::Ceiling::kReadBandwidth : bench::Ceiling::kFp32,
                   .threads = threads,
                   .check = [b] { return b->check(); },
                   .run = [b] { b->run(); }});
      }
  }
}

}  // namespace krt::quant
