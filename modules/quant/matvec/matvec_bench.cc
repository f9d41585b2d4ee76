#include "modules/quant/matvec/matvec.h"
#include "modules/quant/matvec/projection_bench.h"

namespace krt::quant {

void bench_matvec(bench::Suite& suite) {
  const auto run = [](Projection& p) {
    MatVec* const kernel = pick(p.context, matvec_variants(p.format.index)).run;
    const auto parts = static_cast<std::size_t>(p.context.arena.threads());
    p.context.arena.parallel(parts, [&](std::size_t part) {
      const Range r = band(p.rows, parts, part);
      kernel(p.weights.data() + r.begin * p.row_bytes, r.end - r.begin, Projection::kCols, p.x.data(), p.columns,
             p.y.data() + r.begin, p.rows);
    });
  };
  const auto check = [](const Projection& p) {
    const std::size_t row = p.rows - 1;
    std::vector<float> want(p.columns);
    matvec_variants(p.format.index)
        .back()
        .run(p.weights.data() + row * p.row_bytes, 1, Projection::kCols, p.x.data(), p.columns, want.data(), 1);
    for (std::size_t j = 0; j < p.columns; ++j)
      if (want[j] != p.y[j * p.rows + row]) return "other values than the plain form's";
    return "";
  };
  add_projections(
      suite, "quant.matvec", [](const Format&) { return true; }, run, check);
}

}  // namespace krt::quant
