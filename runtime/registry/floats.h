#pragma once
// Floats and FloatsInPlace: parameters of kernels that compute in f32 and also take half types. An f32 tensor is used
// where it lies; f16 and bf16 are converted at the edge.
//
// T                        spelled     accepts
// const Floats&            float[n]    whatever std::span<const float> does
// const FloatsInPlace&     float[n]&   a writable f32, f16 or bf16 tensor; a list of numbers, or any tensor of a caller
//                                      in another process, is copied and comes back with the result
//
//   AddResult add(const FloatsInPlace& residual, const Floats& x) {
//     if (overlap(residual.memory(), x.memory())) return {kOverlappingBuffers};
//     ... residual.values()[i] += x.values()[i] ...
//     residual.store();
//   }

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "runtime/registry/arguments.h"

namespace krt {

class Floats {
 public:
  Floats() = default;
  template <class R>
  requires std::convertible_to<const R&, std::span<const float>> Floats(const R& f32)
      : Floats(std::span<const float>(f32), std::as_bytes(std::span<const float>(f32))) {}
  Floats(std::span<const F16> half);
  Floats(std::span<const BF16> half);
  // `values` were converted from `memory` already and outlive this.
  Floats(std::span<const float> values, std::span<const std::byte> memory) : values_(values), memory_(memory) {}
  Floats(Floats&&) = default;
  Floats& operator=(Floats&&) = default;

  [[nodiscard]] std::span<const float> values() const { return values_; }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  // Where the caller keeps them.
  [[nodiscard]] std::span<const std::byte> memory() const { return memory_; }

 private:
  std::vector<float> converted_;
  std::span<const float> values_;
  std::span<const std::byte> memory_;
};

class FloatsInPlace {
 public:
  FloatsInPlace() = default;
  template <class R>  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): what moves is no span
  requires std::convertible_to<R&&, std::span<float>> FloatsInPlace(R&& f32)
      : values_(std::forward<R>(f32)), memory_(std::as_writable_bytes(values_)) {}
  FloatsInPlace(std::span<F16> half);
  FloatsInPlace(std::span<BF16> half);
  FloatsInPlace(FloatsInPlace&&) = default;
  FloatsInPlace& operator=(FloatsInPlace&&) = default;

  [[nodiscard]] std::span<float> values() const { return values_; }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] std::span<const std::byte> memory() const { return memory_; }
  // Rounds what values() holds, to nearest even, back to a half type. A kernel that changed them calls it last.
  void store() const;

 private:
  std::vector<float> converted_;
  std::span<float> values_;
  std::span<std::byte> memory_;
  DType dtype_ = DType::kF32;
};

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b);

template <>
struct Argument<Floats> {
  static constexpr std::string_view kType = "float[n]";
  static constexpr bool kIsList = true, kInPlace = false;
  struct Slot {
    ListSlot<float> list;
    Floats floats;
    const Floats& get() const { return floats; }
  };
  static bool read(const Value& v, Slot& slot, Context& context, ArgumentError& error);
};

template <>
struct Argument<FloatsInPlace> {
  static constexpr std::string_view kType = "float[n]&";
  static constexpr bool kIsList = true, kInPlace = true;
  struct Slot {
    Tensor tensor;
    bool resident = false;  // as in InPlaceSlot
    FloatsInPlace floats;
    const FloatsInPlace& get() const { return floats; }
  };
  static bool read(const Value& v, Slot& slot, Context& context, ArgumentError& error);
};

}  // namespace krt
