// The rounding of the columns is part of what is timed.

#include <cmath>

#include "modules/quant/matvec/projection_bench.h"
#include "modules/quant/matvec_i16/matvec_i16.h"

namespace krt::quant {

void bench_matvec_i16(bench::Suite& suite) {
  const auto run = [rounded = std::make_shared<RoundedColumns>()](Projection& p) {
    MatVecI16* const kernel = pick(p.context, matvec_i16_variants(p.format.index)).run;
    rounded->resize(p.columns, Projection::kCols);
    rounded->round({0, p.columns}, p.x.data());
    const auto parts = static_cast<std::size_t>(p.context.arena.threads());
    p.context.arena.parallel(parts, [&](std::size_t part) {
      const Range r = band(p.rows, parts, part);
      kernel(p.weights.data() + r.begin * p.row_bytes, r.end - r.begin, *rounded, p.y.data() + r.begin, p.rows);
    });
  };
  const auto check = [](const Projection& p) {
    const std::size_t row = p.rows - 1;
    std::vector<float> w(Projection::kCols);
    p.format.decode(p.weights.data() + row * p.row_bytes,
                    static_cast<std::size_t>(Projection::kCols / p.format.info.values), w.data());
    for (std::size_t j = 0; j < p.columns; ++j) {
      double want = 0, size = 0;
      for (std::size_t c = 0; c < w.size(); ++c) {
        want += double{w[c]} * double{p.x[j * w.size() + c]};
        size += std::fabs(double{w[c]});
      }
      if (!(std::fabs(double{p.y[j * p.rows + row]} - want) <= 5 * std::exp2(-15.9) * size)) return "outside the bound";
    }
    return "";
  };
  add_projections(
      suite, "quant.matvec_i16", [](const Format& f) { return !matvec_i16_variants(f.index).empty(); }, run, check);
}

}  // namespace krt::quant
