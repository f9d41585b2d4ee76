#pragma once
// Tensor: a dtype, a shape of up to four dimensions (row-major, packed) and memory that it owns, shares or
// borrows. Copying a Tensor copies the reference, not the memory.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/dtype.h"
#include "runtime/core/status.h"

namespace krt {

class Shape {
 public:
  static constexpr std::size_t kMaxRank = 4;
  Shape() = default;  // rank 0: a single element
  Shape(std::initializer_list<std::int64_t> dims);
  // Refuses more than kMaxRank dimensions, a negative one, and a product that does not fit an int64.
  static Result<Shape> checked(std::span<const std::int64_t> dims);

  [[nodiscard]] std::span<const std::int64_t> dims() const { return {dims_.data(), rank_}; }
  [[nodiscard]] std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::string str() const;  // "[2,3]"
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::size_t rank_ = 0;
};

// Bytes of `elements` values of `dtype`; a count that is no whole number of blocks, or that overflows, is refused.
Result<std::size_t> bytes_for(DType dtype, const Shape& shape);

class Tensor {
 public:
  Tensor() : shape_{0} {}  // f64[0]

  // Owns zeroed memory. Refuses with resource_exhausted what cannot be allocated.
  static Result<Tensor> zeros(DType dtype, const Shape& shape);
  // A flat tensor that owns what the vector held; nothing is copied.
  template <class T>
  static Tensor own(std::vector<T> values) {
    auto held = std::make_shared<std::vector<T>>(std::move(values));
    T* data = held->data();
    const auto size = static_cast<std::int64_t>(held->size());
    return {dtype_of<T>, Shape{size}, data, true, std::move(held)};
  }
  // Memory that somebody else owns and that outlives the tensor (or is kept by `keep_alive`).
  // `data` holds bytes_for(dtype, shape) bytes.
  static Tensor borrow(DType dtype, const Shape& shape, const void* data, std::shared_ptr<const void> keep_alive = {}) {
    return {dtype, shape, const_cast<void*>(data), false, std::move(keep_alive)};
  }
  static Tensor borrow_mutable(DType dtype, const Shape& shape, void* data,
                               std::shared_ptr<const void> keep_alive = {}) {
    return {dtype, shape, data, true, std::move(keep_alive)};
  }
  template <class T>
  static Tensor borrow(std::span<const T> values) {
    return borrow(dtype_of<T>, Shape{static_cast<std::int64_t>(values.size())}, values.data());
  }
  template <class T>
  static Tensor borrow_mutable(std::span<T> values) {
    return borrow_mutable(dtype_of<T>, Shape{static_cast<std::int64_t>(values.size())}, values.data());
  }

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t elements() const { return shape_.elements(); }
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] bool writable() const { return writable_; }
  [[nodiscard]] const void* data() const { return data_; }
  [[nodiscard]] void* mutable_data() const { return writable_ ? data_ : nullptr; }

  // The elements, where T is the tensor's dtype; an empty span otherwise (ask dtype() first).
  template <class T>
  [[nodiscard]] std::span<const T> as() const {
    if (dtype_ != dtype_of<T>) return {};
    return {static_cast<const T*>(data_), static_cast<std::size_t>(elements())};
  }
  template <class T>
  [[nodiscard]] std::span<T> as_mutable() const {
    if (dtype_ != dtype_of<T> || !writable_) return {};
    return {static_cast<T*>(data_), static_cast<std::size_t>(elements())};
  }
  // The same memory under another shape of as many elements.
  [[nodiscard]] Tensor reshaped(const Shape& shape) const {
    Tensor t = *this;
    assert(shape.elements() == elements());
    t.shape_ = shape;
    return t;
  }

 private:
  Tensor(DType dtype, const Shape& shape, void* data, bool writable, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), data_(data), shape_(shape), dtype_(dtype), writable_(writable) {}

  std::shared_ptr<const void> owner_;
  void* data_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::kF64;
  bool writable_ = false;
};

}  // namespace krt
