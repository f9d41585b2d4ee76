#pragma once
// Linear: a weight matrix of the file bound to the kernel that serves it, and multiply(): the products of a layer.
//
// These are the two places that know how a weight in some format meets activations. A kernel that wants another layout,
// other activations or a tile of columns is chosen in bind() and called in multiply().

#include <cstdint>
#include <initializer_list>
#include <span>

#include "engine/gguf/gguf.h"
#include "modules/quant/matvec/matvec.h"
#include "modules/quant/matvec_i16/matvec_i16.h"
#include "runtime/exec/context.h"

namespace krt::engine {

class Linear {
 public:
  Linear() = default;
  // The matrix stays mapped; `tensor` outlives this and is two-dimensional, in a weight format.
  static Linear bind(Context& context, const GgufTensor& tensor);

  [[nodiscard]] std::size_t rows() const { return rows_; }  // outputs
  [[nodiscard]] std::size_t cols() const { return cols_; }  // inputs
  [[nodiscard]] bool rounds() const { return rounding_kernel_ != nullptr; }
  // Outputs [r.begin, r.end) of n columns: y[j * rows() + r]. `rounded` holds the columns where the weight rounds.
  void run(Range r, const float* x, std::size_t n, const quant::RoundedColumns& rounded, float* y) const;

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t rows_ = 0, cols_ = 0, row_bytes_ = 0;
  // Block formats of integers take x in 16 bits, others in f32: one of these two.
  quant::MatVecI16* rounding_kernel_ = nullptr;
  quant::MatVec* kernel_ = nullptr;
};

// y = weight * x for each of n columns x, one behind the other; y: n columns of weight->rows() values.
struct Product {
  const Linear* weight;
  float* y;
};
// Products of one input, in one fork and join: each thread computes a band of every matrix's rows. A value's bits
// depend on neither the number of threads nor that of columns. `scratch` keeps its memory from call to call.
void multiply(Context& context, std::initializer_list<Product> products, std::span<const float> x, std::size_t n,
              quant::RoundedColumns& scratch);

}  // namespace krt::engine
