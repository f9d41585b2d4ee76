#include "runtime/core/tensor.h"

#include <cstdlib>

namespace krt {

Shape::Shape(std::initializer_list<std::int64_t> dims) : rank_(dims.size()) {
  assert(rank_ <= kMaxRank);
  std::size_t i = 0;
  for (const std::int64_t dim : dims) dims_[i++] = dim;
}

Result<Shape> Shape::checked(std::span<const std::int64_t> dims) {
  if (dims.size() > kMaxRank) return invalid("a tensor has at most 4 dimensions, got " + std::to_string(dims.size()));
  Shape shape;
  shape.rank_ = dims.size();
  std::int64_t product = 1;
  bool overflow = false;
  bool empty = false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) return invalid("dimension " + std::to_string(i) + " is negative: " + std::to_string(dims[i]));
    shape.dims_[i] = dims[i];
    empty = empty || dims[i] == 0;
    overflow = __builtin_mul_overflow(product, dims[i], &product) || overflow;
  }
  if (overflow && !empty) return invalid("the product of shape " + shape.str() + " does not fit 63 bits");
  return shape;
}

std::int64_t Shape::elements() const {
  for (const std::int64_t dim : dims())
    if (dim == 0) return 0;  // before any product, which may wrap beside a zero
  std::int64_t product = 1;
  for (const std::int64_t dim : dims()) product *= dim;
  return product;
}

std::string Shape::str() const {
  std::string out = "[";
  for (std::size_t i = 0; i < rank_; ++i) out += (i ? "," : "") + std::to_string(dims_[i]);
  return out + "]";
}

Result<std::size_t> bytes_for(DType dtype, const Shape& shape) {
  const DTypeInfo& info = info_of(dtype);
  const std::int64_t elements = shape.elements();
  if (elements % info.block_elements != 0)
    return invalid("shape " + shape.str() + " is no whole number of " + std::string(info.name) + " blocks");
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements / info.block_elements, std::int64_t{info.block_bytes}, &bytes))
    return invalid("shape " + shape.str() + " of " + std::string(info.name) + " does not fit 63 bits of bytes");
  return static_cast<std::size_t>(bytes);
}

Result<Tensor> Tensor::zeros(DType dtype, const Shape& shape) {
  Result<std::size_t> bytes = bytes_for(dtype, shape);
  if (!bytes.ok()) return bytes.status();
  void* data = std::calloc(*bytes != 0 ? *bytes : 1, 1);
  if (data == nullptr)
    return Status(Reason::kResourceExhausted, "cannot allocate " + std::to_string(*bytes) + " bytes for a tensor");
  return Tensor(dtype, shape, data, true, std::shared_ptr<const void>(data, [](void* p) { std::free(p); }));
}

std::size_t Tensor::bytes() const {
  const DTypeInfo& info = info_of(dtype_);
  return static_cast<std::size_t>(elements() / info.block_elements * info.block_bytes);
}

}  // namespace krt
