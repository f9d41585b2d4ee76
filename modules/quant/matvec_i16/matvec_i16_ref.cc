// The plain forms: of the rounding, its definition; of the product, quant.matvec's on the values that x was rounded to.

#include <algorithm>
#include <cmath>
#include <limits>

#include "modules/quant/formats/list.h"
#include "modules/quant/matvec/kernels.h"
#include "modules/quant/matvec_i16/kernels.h"

namespace krt::quant {
namespace {

template <std::size_t kIndex>
void multiply(const std::uint8_t* weights, std::size_t rows, const RoundedColumns& x, float* y, std::size_t y_stride) {
  std::vector<float> column(x.cols());
  for (std::size_t j = 0; j < x.n(); ++j) {
    for (std::size_t c = 0; c < x.cols(); ++c) column[c] = x.scales<32>(j)[c / 32] * static_cast<float>(x.q(j)[c]);
    matvec_plain(kIndex)(weights, rows, x.cols(), column.data(), 1, y + j * y_stride, rows);
  }
}

template <std::size_t... kIndex>
MatVecI16* of(std::index_sequence<kIndex...>, std::size_t index) {
  static constexpr MatVecI16* table[] = {multiply<kIndex>...};
  return table[index];
}

}  // namespace

void round_column_plain(const float* x, std::size_t cols, std::int16_t* q, float* scales32, float* sums32,
                        float* scales16, float* sums16) {
  for (std::size_t b = 0; b < cols / 32; ++b, x += 32, q += 32) {
    float m = 0;
    bool finite = true;
    for (int i = 0; i < 32; ++i) {
      m = std::max(m, std::fabs(x[i]));
      finite = finite && std::isfinite(x[i]);
    }
    const bool rounds = finite && m >= kSmallestBlock;
    const float scale = rounds ? m / 32767 : finite ? 0 : std::numeric_limits<float>::quiet_NaN();
    const float inverse = rounds ? 32767 / m : 0;
    float sums[2] = {};
    for (int i = 0; i < 32; ++i) {
      q[i] = rounds ? static_cast<std::int16_t>(std::lrint(x[i] * inverse)) : std::int16_t{0};
      sums[i / 16] += static_cast<float>(q[i]);
    }
    for (std::size_t half = 0; half < 2; ++half) {
      scales16[2 * b + half] = scale;
      sums16[2 * b + half] = scale * sums[half];
    }
    scales32[b] = scale;
    sums32[b] = scale * (sums[0] + sums[1]);
  }
}

MatVecI16* matvec_i16_plain(std::size_t index) { return of(std::make_index_sequence<WeightFormats::kSize>(), index); }

}  // namespace krt::quant
