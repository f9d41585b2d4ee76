#include "engine/model/linear.h"

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
  out.kernel_ = pick(context, quant::matvec_variants(tensor.format->index)).run;
  return out;
}

void Linear::run(Range r, const float* x, std::size_t n, float* y) const {
  kernel_(data_ + r.begin * row_bytes_, r.end - r.begin, cols_, x, n, y + r.begin, rows_);
}

void multiply(Context& context, std::initializer_list<Product> products, std::span<const float> x, std::size_t n) {
  std::size_t work = 0;
  for (const Product& p : products) work += p.weight->rows() * p.weight->cols() * n;
  const std::size_t parts = work < kParallelMinProducts ? 1 : static_cast<std::size_t>(context.arena.threads());
  context.arena.parallel(parts, [&](std::size_t part) {
    for (const Product& p : products) p.weight->run(band(p.weight->rows(), parts, part), x.data(), n, p.y);
  });
}

}  // namespace krt::engine
