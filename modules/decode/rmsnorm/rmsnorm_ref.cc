#include <cmath>

#include "modules/decode/rmsnorm/rmsnorm.h"

namespace krt::decode {

void rmsnorm_row_reference(float* residual, const float* x, const float* weight, std::size_t d, double eps,
                           float* out) {
  if (residual != nullptr) {
    for (std::size_t i = 0; i < d; ++i) residual[i] += x[i];
    x = residual;
  }
  double sum = 0;
  for (std::size_t i = 0; i < d; ++i) sum += double{x[i]} * double{x[i]};
  const double scale = 1 / std::sqrt(sum / static_cast<double>(d) + eps);
  for (std::size_t i = 0; i < d; ++i) out[i] = static_cast<float>(double{x[i]} * scale * double{weight[i]});
}

}  // namespace krt::decode
