#include "runtime/registry/arguments.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/core/half.h"

namespace krt {
namespace {

template <class E>
constexpr bool kIsInteger = std::is_integral_v<E>;

// The widest value of the kind that S belongs to; conversions go through it.
template <class S>
auto widen(S x) {
  if constexpr (std::is_same_v<S, F16> || std::is_same_v<S, BF16>)
    return static_cast<double>(to_f32(x));
  else if constexpr (kIsInteger<S>)
    return static_cast<std::int64_t>(x);
  else
    return static_cast<double>(x);
}

template <class E>
E narrow(double x) {
  if constexpr (std::is_same_v<E, double>) return x;
  if constexpr (std::is_same_v<E, float>) return static_cast<float>(x);
  // f64 to a half in one rounding: f32 with the sticky bit of what it lost ("round to odd"), then to the half.
  float f = static_cast<float>(x);
  if (static_cast<double>(f) != x && !std::isnan(x) && !std::isinf(f)) {
    if (std::fabs(static_cast<double>(f)) > std::fabs(x)) f = std::nextafterf(f, 0.0F);
    f = std::bit_cast<float>(std::bit_cast<std::uint32_t>(f) | 1U);
  }
  if constexpr (std::is_same_v<E, F16>) return to_f16(f);
  if constexpr (std::is_same_v<E, BF16>) return to_bf16(f);
}

// An int64 in one rounding. A double holds 53 bits of it: where it has more, the lowest of them says whether anything
// stood below ("round to odd"), which no rounding to 24 bits or fewer mistakes for a tie.
template <class E>
E narrow(std::int64_t x) {
  if constexpr (std::is_same_v<E, double> || std::is_same_v<E, float>) return static_cast<E>(x);
  constexpr std::int64_t kLow = (std::int64_t{1} << 11U) - 1;
  const bool wide = x > std::int64_t{1} << 53U || x < -(std::int64_t{1} << 53U);
  if (wide) x = (x & ~kLow) | ((x & kLow) != 0 ? kLow + 1 : 0);
  return narrow<E>(static_cast<double>(x));
}

template <class E>
bool is_infinite(E x) {
  if constexpr (std::is_same_v<E, F16> || std::is_same_v<E, BF16>)
    return std::isinf(to_f32(x));
  else
    return std::isinf(x);
}

// One element; false where `E` cannot hold it.
template <class E>
bool convert(std::int64_t x, E& out) {
  if constexpr (kIsInteger<E>) {
    out = static_cast<E>(x);
    return static_cast<std::int64_t>(out) == x;
  } else {
    out = narrow<E>(x);
    return !is_infinite(out);
  }
}
template <class E>
bool convert(double x, E& out) {
  if constexpr (kIsInteger<E>) {
    return false;
  } else {
    out = narrow<E>(x);
    return !is_infinite(out) || std::isinf(x);
  }
}

std::string spelled(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", x);
  return buffer;
}
std::string spelled(std::int64_t x) { return std::to_string(x); }

template <class E>
std::string element_error(std::size_t i, const std::string& what) {
  return "must be " + std::string(detail::list_type<E>(false)) + ", but element " + std::to_string(i) + " is " + what;
}

template <class E, class S>
bool convert_all(std::span<const S> from, std::vector<E>& to, ArgumentError& error) {
  to.resize(from.size());
  if constexpr (std::is_same_v<E, float> && (std::is_same_v<S, F16> || std::is_same_v<S, BF16>)) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = to_f32(from[i]);  // exact: nothing to check
    return true;
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto wide = widen(from[i]);
    if (convert(wide, to[i])) continue;
    error.text =
        element_error<E>(i, spelled(wide) + ", which " + std::string(info_of(dtype_of<E>).name) + " cannot hold");
    return false;
  }
  return true;
}

// Which dtypes a parameter of element type E converts from.
template <class E, class S>
constexpr bool kConvertible = kIsInteger<E> ? kIsInteger<S>
                                            : kIsInteger<S> || std::is_same_v<S, double> || sizeof(S) < sizeof(E);

template <class E, class S>
bool convert_from(const Tensor& t, std::vector<E>& out, ArgumentError& error) {
  if constexpr (kConvertible<E, S>)
    return convert_all(t.as<S>(), out, error);
  else
    return false;
}

template <class E>
bool convert_tensor(const Tensor& t, std::vector<E>& out, ArgumentError& error) {
  switch (t.dtype()) {
    case DType::kF64: return convert_from<E, double>(t, out, error);
    case DType::kF32: return convert_from<E, float>(t, out, error);
    case DType::kF16: return convert_from<E, F16>(t, out, error);
    case DType::kBF16: return convert_from<E, BF16>(t, out, error);
    case DType::kI8: return convert_from<E, std::int8_t>(t, out, error);
    case DType::kU8: return convert_from<E, std::uint8_t>(t, out, error);
    case DType::kI16: return convert_from<E, std::int16_t>(t, out, error);
    case DType::kI32: return convert_from<E, std::int32_t>(t, out, error);
    case DType::kI64: return convert_from<E, std::int64_t>(t, out, error);
  }
  return false;
}

template <class E>
bool convert_element(const Value& v, E& out) {
  if (const auto* i = v.get_if<std::int64_t>()) return convert(*i, out);
  double d = 0;
  return read_number(v, d) && convert(d, out);
}

template <class E>
bool convert_list(const List& list, std::vector<E>& out, ArgumentError& error) {
  out.resize(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (convert_element(list[i], out[i])) continue;
    error.text = element_error<E>(i, type_text(list[i]));
    return false;
  }
  return true;
}

}  // namespace

const Value* resolve(const Value& value, Context& context, std::shared_ptr<const Value>& held, ArgumentError& error) {
  const auto* handle = value.get_if<Handle>();
  if (handle == nullptr) return &value;
  Result<std::shared_ptr<const Value>> found = context.handles.get(*handle);
  if (!found.ok()) {
    error = {"names no value: " + found.status().message(), true};
    return nullptr;
  }
  held = std::move(found).value();
  return held.get();
}

bool read_number(const Value& value, double& out) {
  if (const auto* d = value.get_if<double>()) return out = *d, true;
  if (const auto* i = value.get_if<std::int64_t>()) return out = static_cast<double>(*i), true;
  const auto* s = value.get_if<std::string>();
  if (s == nullptr) return false;
  if (*s == "NaN") return out = std::numeric_limits<double>::quiet_NaN(), true;
  if (*s == "Infinity") return out = std::numeric_limits<double>::infinity(), true;
  if (*s == "-Infinity") return out = -std::numeric_limits<double>::infinity(), true;
  return false;
}

template <class E>
bool read_list(const Value& value, ListSlot<E>& slot, Context& context, ArgumentError& error) {
  const Value* v = resolve(value, context, slot.held, error);
  if (v == nullptr) return false;
  if (const auto* tensor = v->get_if<Tensor>()) {
    if (tensor->dtype() == dtype_of<E>) {
      slot.view = tensor->as<E>();
      return true;
    }
    if (!convert_tensor(*tensor, slot.converted, error)) return false;
  } else if (const auto* list = v->get_if<List>()) {
    if (!convert_list(*list, slot.converted, error)) return false;
  } else {
    return false;
  }
  slot.view = slot.converted;
  return true;
}

template <class E>
bool read_in_place(const Value& value, InPlaceSlot<E>& slot, Context& context, ArgumentError& error) {
  std::shared_ptr<const Value> held;
  const Value* v = resolve(value, context, held, error);
  if (v == nullptr) return false;
  const auto* tensor = v->get_if<Tensor>();
  if (tensor != nullptr && tensor->dtype() == dtype_of<E> && tensor->writable()) {
    slot.tensor = *tensor;
    slot.resident = held != nullptr;
    return true;
  }
  if (held != nullptr || (tensor != nullptr && !context.arguments_by_value)) {
    error.text = "is changed in place: it must be a writable " + std::string(info_of(dtype_of<E>).name) +
                 " tensor, got " + (tensor == nullptr || tensor->writable() ? "" : "a read-only ") + type_text(*v);
    return false;
  }
  ListSlot<E> copy;
  if (!read_list(*v, copy, context, error)) return false;
  std::vector<E> owned =
      copy.converted.empty() ? std::vector<E>(copy.view.begin(), copy.view.end()) : std::move(copy.converted);
  slot.tensor = Tensor::own(std::move(owned));
  if (tensor != nullptr) slot.tensor = slot.tensor.reshaped(tensor->shape());
  return true;
}

bool Argument<Tensor>::read(const Value& value, Slot& slot, Context& context, ArgumentError& error) {
  std::shared_ptr<const Value> held;
  const Value* v = resolve(value, context, held, error);
  if (v == nullptr) return false;
  if (const auto* tensor = v->get_if<Tensor>()) {
    slot.tensor = *tensor;
    return true;
  }
  const auto* list = v->get_if<List>();
  if (list == nullptr) return false;
  std::vector<double> numbers;
  if (!convert_list(*list, numbers, error)) return false;
  slot.tensor = Tensor::own(std::move(numbers));
  return true;
}

#define KRT_INSTANTIATE(E)                                                       \
  template bool read_list(const Value&, ListSlot<E>&, Context&, ArgumentError&); \
  template bool read_in_place(const Value&, InPlaceSlot<E>&, Context&, ArgumentError&)
KRT_INSTANTIATE(double);
KRT_INSTANTIATE(float);
KRT_INSTANTIATE(F16);
KRT_INSTANTIATE(BF16);
KRT_INSTANTIATE(std::int8_t);
KRT_INSTANTIATE(std::uint8_t);
KRT_INSTANTIATE(std::int16_t);
KRT_INSTANTIATE(std::int32_t);
KRT_INSTANTIATE(std::int64_t);
#undef KRT_INSTANTIATE

}  // namespace krt
