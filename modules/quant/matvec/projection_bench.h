#pragma once
// The cases of a mat-vec kernel: a projection of 1024 inputs from memory (32 MiB of weights) against one column, as
// decode meets it, and 512 rows of it against 64 columns, as prefill does.

#include <functional>
#include <memory>

#include "modules/quant/matvec/matvec_testing.h"
#include "runtime/bench/bench.h"
#include "runtime/testing/test_context.h"

namespace krt::quant {

struct Projection {
  static constexpr std::int64_t kCols = 1024;

  Projection(const Format& format, std::size_t columns, int threads)
      : format(format),
        columns(columns),
        row_bytes(static_cast<std::size_t>(kCols / format.info.values * format.info.bytes)),
        rows(columns == 1 ? (std::size_t{1} << 25) / row_bytes : 512),
        context(threads) {}
  void fill() {
    weights = random_weights(format, rows * kCols, 20261130);
    x = krt::testing::Rng(20261201).normals<float>(columns * kCols);
    y.resize(columns * rows);
  }

  const Format& format;
  std::size_t columns, row_bytes, rows;
  krt::testing::TestContext context;
  std::vector<std::uint8_t> weights = {};
  std::vector<float> x = {}, y = {};  // y: columns x rows
};

// For every format that `serves`: run(projection) fills y, and check(projection) says what is wrong with it.
template <class Serves, class Run, class Check>
void add_projections(bench::Suite& suite, const std::string& kernel, const Serves& serves, const Run& run,
                     const Check& check) {
  for (const Format& format : formats()) {
    if (!format.weights || !serves(format)) continue;
    for (const std::size_t columns : {1, 64})
      for (const int threads : {1, 2}) {
        const auto p = std::make_shared<Projection>(format, columns, threads);
        suite.add({.name = kernel + "/" + std::string(format.info.name) + "/n=" + std::to_string(columns) +
                           "/threads=" + std::to_string(threads),
                   .work = columns == 1 ? static_cast<double>(p->rows * p->row_bytes)
                                        : 2.0 * static_cast<double>(p->rows * Projection::kCols * columns),
                   .ceiling = columns == 1 ? bench::Ceiling::kReadBandwidth : bench::Ceiling::kFp32,
                   .threads = threads,
                   .check =
                       [p, run, check] {
                         p->fill();
                         run(*p);
                         return std::string(check(*p));
                       },
                   .run = [p, run] { run(*p); }});
      }
  }
}

}  // namespace krt::quant
