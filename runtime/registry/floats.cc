#include "runtime/registry/floats.h"

#include <functional>

#include "runtime/core/half.h"

namespace krt {
namespace {

template <class Half>
std::vector<float> widened(std::span<const Half> half) {
  std::vector<float> out(half.size());
  for (std::size_t i = 0; i < half.size(); ++i) out[i] = to_f32(half[i]);
  return out;
}

template <class Half, class Round>
void round_back(std::span<const float> values, std::span<std::byte> memory, const Round& round) {
  auto* out = reinterpret_cast<Half*>(memory.data());
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = round(values[i]);
}

template <class E>
bool read_as(const Value& value, Argument<FloatsInPlace>::Slot& slot, Context& context, ArgumentError& error) {
  InPlaceSlot<E> read;
  if (!read_in_place(value, read, context, error)) return false;
  slot.tensor = read.tensor;
  slot.resident = read.resident;
  slot.floats = read.get();
  return true;
}

}  // namespace

Floats::Floats(std::span<const F16> half)
    : converted_(widened(half)), values_(converted_), memory_(std::as_bytes(half)) {}
Floats::Floats(std::span<const BF16> half)
    : converted_(widened(half)), values_(converted_), memory_(std::as_bytes(half)) {}

FloatsInPlace::FloatsInPlace(std::span<F16> half)
    : converted_(widened(std::span<const F16>(half))),
      values_(converted_),
      memory_(std::as_writable_bytes(half)),
      dtype_(DType::kF16) {}
FloatsInPlace::FloatsInPlace(std::span<BF16> half)
    : converted_(widened(std::span<const BF16>(half))),
      values_(converted_),
      memory_(std::as_writable_bytes(half)),
      dtype_(DType::kBF16) {}

void FloatsInPlace::store() const {
  if (dtype_ == DType::kF16) round_back<F16>(values_, memory_, to_f16);
  if (dtype_ == DType::kBF16) round_back<BF16>(values_, memory_, to_bf16);
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<const std::byte*> before;  // a total order, also of unrelated pointers
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

bool Argument<Floats>::read(const Value& value, Slot& slot, Context& context, ArgumentError& error) {
  const Value* v = resolve(value, context, slot.list.held, error);
  if (v == nullptr || !read_list(*v, slot.list, context, error)) return false;
  const auto* tensor = v->get_if<Tensor>();
  const std::span<const float> values = slot.list.view;
  slot.floats = tensor != nullptr ? Floats(values, {static_cast<const std::byte*>(tensor->data()), tensor->bytes()})
                                  : Floats(values);
  return true;
}

bool Argument<FloatsInPlace>::read(const Value& value, Slot& slot, Context& context, ArgumentError& error) {
  std::shared_ptr<const Value> held;
  const Value* v = resolve(value, context, held, error);
  if (v == nullptr) return false;
  const auto* tensor = v->get_if<Tensor>();
  const DType dtype = tensor != nullptr ? tensor->dtype() : DType::kF32;
  if (dtype == DType::kF16) return read_as<F16>(value, slot, context, error);
  if (dtype == DType::kBF16) return read_as<BF16>(value, slot, context, error);
  return read_as<float>(value, slot, context, error);
}

}  // namespace krt
