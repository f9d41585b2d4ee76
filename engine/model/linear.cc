#include "engine/model/linear.h"

#include <algorithm>

namespace krt::engine {
namespace {

// Below this many products in all a call runs in the caller: about 20 us of work.
constexpr std::size_t kParallelMinProducts = std::size_t{1} << 16;

}  // namespace

Linear Linear::bind(Context& context, const GgufTensor& tensor) {
  Linear out;
  out.data_ = tensor.data.data();
  out.cols_ = static_cast<std::size_t>(tensor.dims[0]);
  out.rows_ = static_cast<std::size_t>(tensor.dims[1]);
  out.row_bytes_ = tensor.data.size() / out.rows_;
  const auto& rounding = quant::matvec_i16_variants(tensor.format->index);
  if (rounding.empty())
    out.kernel_ = pick(context, quant::matvec_variants(tensor.format->index)).run;
  else
    out.rounding_kernel_ = pick(context, rounding).run;
  return out;
}

void Linear::run(Range r, const float* x, std::size_t n, const quant::RoundedColumns& rounded, float* y) const {
  const std::uint8_t* weights = data_ + r.begin * row_bytes_;
  if (rounds())
    rounding_kernel_(weights, r.end - r.begin, rounded, y + r.begin, rows_);
  else
    kernel_(weights, r.end - r.begin, cols_, x, n, y + r.begin, rows_);
}

void multiply(Context& context, std::initializer_list<Product> products, std::span<const float> x, std::size_t n,
              quant::RoundedColumns& scratch) {
  std::size_t work = 0;
  bool rounds = false;
  for (const Product& p : products) {
    work += p.weight->rows() * p.weight->cols() * n;
    rounds = rounds || p.weight->rounds();
  }
  const std::size_t parts = work < kParallelMinProducts ? 1 : static_cast<std::size_t>(context.arena.threads());
  if (rounds) {
    scratch.resize(n, x.size() / n);
    const std::size_t pieces = std::min(n, parts);  // of one column, only the caller
    context.arena.parallel(pieces, [&](std::size_t piece) { scratch.round(band(n, pieces, piece), x.data()); });
  }
  context.arena.parallel(parts, [&](std::size_t part) {
    for (const Product& p : products) p.weight->run(band(p.weight->rows(), parts, part), x.data(), n, scratch, p.y);
  });
}

}  // namespace krt::engine
