// The plain form: the definition of the sums' order.

#include "modules/quant/formats/list.h"
#include "modules/quant/matvec/kernels.h"

namespace krt::quant {
namespace {

template <class F>
float dot(const std::uint8_t* row, std::size_t cols, const float* x) {
  constexpr auto kValues = static_cast<std::size_t>(F::kInfo.values);
  float lanes[kLanes] = {};
  float w[kValues];
  for (std::size_t c = 0; c < cols; c += kValues, row += F::kInfo.bytes) {
    F::decode(row, w);
    for (std::size_t i = 0; i < kValues; ++i) lanes[(c + i) % kLanes] += w[i] * x[c + i];
  }
  return sum_lanes(lanes);
}

template <class F>
void multiply(const std::uint8_t* weights, std::size_t rows, std::size_t cols, const float* x, std::size_t n, float* y,
              std::size_t y_stride) {
  const std::size_t row_bytes =
      cols / static_cast<std::size_t>(F::kInfo.values) * static_cast<std::size_t>(F::kInfo.bytes);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < n; ++j) y[j * y_stride + r] = dot<F>(weights + r * row_bytes, cols, x + j * cols);
}

template <class... F>
MatVec* of(FormatList<F...>, std::size_t index) {
  static constexpr MatVec* table[] = {multiply<F>...};
  return table[index];
}

}  // namespace

MatVec* matvec_plain(std::size_t index) { return of(WeightFormats{}, index); }

}  // namespace krt::quant
