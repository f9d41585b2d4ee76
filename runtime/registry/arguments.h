#pragma once
// Argument<T>: how a kernel's parameter of C++ type T is spelled and read from a Value.
//
// T                          spelled     accepts
// std::int64_t               int         an int; never 3.0 or true
// double                     float       a float or an int; "NaN", "Infinity", "-Infinity"
// bool                       bool        a bool; never 0 or 1
// std::string_view           string      a string
// std::span<const E>         f64[n] ...  a tensor (read row-major whatever its rank) or a flat list of numbers.
//                                        In place where the dtypes agree; else converted, to nearest even, a value that
//                                        is too large being refused: an int to any type, a float to a wider one, and
//                                        f64 (what JSON numbers are) to any float type
// std::span<E>               f64[n]& ... changed in place: a writable tensor of that very dtype; a list, or any tensor
//                                        of a caller in another process, is copied and comes back with the result.
//                                        A handle must hold such a tensor: the change stays there
// Floats, FloatsInPlace      float[n] .. f32, and half types converted at the edge (runtime/registry/floats.h)
// Tensor, Handle, Value      tensor, handle, any
// std::optional<T>           T?          null or absent is none
//
// A handle is accepted wherever a list or a tensor is, for the value that it names.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/value.h"
#include "runtime/exec/context.h"

namespace krt {

// Why an argument was not accepted. `text` stands behind "argument 'x' "; empty says "must be <type>, got <type>".
struct ArgumentError {
  std::string text;
  bool handle = false;  // the handle could not be resolved
};

template <class T>
struct Argument;

// `value`, or what the handle in it names (kept alive by `held`); null and an error where it names nothing.
const Value* resolve(const Value& value, Context& context, std::shared_ptr<const Value>& held, ArgumentError& error);

template <class T>
struct ScalarSlot {
  T value{};
  T get() const { return value; }
};

template <>
struct Argument<std::int64_t> {
  static constexpr std::string_view kType = "int";
  static constexpr bool kIsList = false, kInPlace = false;
  using Slot = ScalarSlot<std::int64_t>;
  static bool read(const Value& v, Slot& slot, Context&, ArgumentError&) {
    const auto* i = v.get_if<std::int64_t>();
    if (i != nullptr) slot.value = *i;
    return i != nullptr;
  }
};

template <>
struct Argument<bool> {
  static constexpr std::string_view kType = "bool";
  static constexpr bool kIsList = false, kInPlace = false;
  using Slot = ScalarSlot<bool>;
  static bool read(const Value& v, Slot& slot, Context&, ArgumentError&) {
    const auto* b = v.get_if<bool>();
    if (b != nullptr) slot.value = *b;
    return b != nullptr;
  }
};

// A float, an int, or one of the three strings that stand for what JSON cannot write.
bool read_number(const Value& value, double& out);

template <>
struct Argument<double> {
  static constexpr std::string_view kType = "float";
  static constexpr bool kIsList = false, kInPlace = false;
  using Slot = ScalarSlot<double>;
  static bool read(const Value& v, Slot& slot, Context&, ArgumentError&) {
    if (const auto* d = v.get_if<double>()) {
      slot.value = *d;
      return true;
    }
    return read_number(v, slot.value);
  }
};

template <>
struct Argument<std::string_view> {
  static constexpr std::string_view kType = "string";
  static constexpr bool kIsList = false, kInPlace = false;
  using Slot = ScalarSlot<std::string_view>;
  static bool read(const Value& v, Slot& slot, Context&, ArgumentError&) {
    const auto* s = v.get_if<std::string>();
    if (s != nullptr) slot.value = *s;
    return s != nullptr;
  }
};

template <>
struct Argument<Value> {
  static constexpr std::string_view kType = "any";
  static constexpr bool kIsList = false, kInPlace = false;
  struct Slot {
    const Value* value = nullptr;
    const Value& get() const { return *value; }
  };
  static bool read(const Value& v, Slot& slot, Context&, ArgumentError&) {
    slot.value = &v;
    return true;
  }
};

template <>
struct Argument<Handle> {
  static constexpr std::string_view kType = "handle";
  static constexpr bool kIsList = false, kInPlace = false;
  using Slot = ScalarSlot<Handle>;
  static bool read(const Value& v, Slot& slot, Context&, ArgumentError&) {
    const auto* h = v.get_if<Handle>();
    if (h != nullptr) slot.value = *h;
    return h != nullptr;
  }
};

// What a list parameter of element type E reads; defined for every plain dtype.
template <class E>
struct ListSlot {
  std::span<const E> view;
  std::shared_ptr<const Value> held;
  std::vector<E> converted;
  std::span<const E> get() const { return view; }
};
template <class E>
bool read_list(const Value& value, ListSlot<E>& slot, Context& context, ArgumentError& error);

// The same, changed in place. `tensor` is what the kernel changed.
template <class E>
struct InPlaceSlot {
  Tensor tensor;
  bool resident = false;  // the value of a handle
  std::span<E> get() const { return tensor.as_mutable<E>(); }
};
template <class E>
bool read_in_place(const Value& value, InPlaceSlot<E>& slot, Context& context, ArgumentError& error);

namespace detail {
template <class E>
consteval std::string_view list_type(bool in_place) {
  constexpr std::string_view kConst[] = {"f64[n]", "f32[n]", "f16[n]", "bf16[n]", "i8[n]",
                                         "u8[n]",  "i16[n]", "i32[n]", "i64[n]"};
  constexpr std::string_view kMutable[] = {"f64[n]&", "f32[n]&", "f16[n]&", "bf16[n]&", "i8[n]&",
                                           "u8[n]&",  "i16[n]&", "i32[n]&", "i64[n]&"};
  const auto i = static_cast<std::size_t>(dtype_of<E>);
  return in_place ? kMutable[i] : kConst[i];
}
}  // namespace detail

template <class E>
struct Argument<std::span<const E>> {
  static constexpr std::string_view kType = detail::list_type<E>(false);
  static constexpr bool kIsList = true, kInPlace = false;
  using Slot = ListSlot<E>;
  static bool read(const Value& v, Slot& slot, Context& context, ArgumentError& error) {
    return read_list(v, slot, context, error);
  }
};

template <class E>
requires(!std::is_const_v<E>) struct Argument<std::span<E>> {
  static constexpr std::string_view kType = detail::list_type<E>(true);
  static constexpr bool kIsList = true, kInPlace = true;
  using Slot = InPlaceSlot<E>;
  static bool read(const Value& v, Slot& slot, Context& context, ArgumentError& error) {
    return read_in_place(v, slot, context, error);
  }
};

template <>
struct Argument<Tensor> {
  static constexpr std::string_view kType = "tensor";
  static constexpr bool kIsList = true, kInPlace = false;
  struct Slot {
    Tensor tensor;
    const Tensor& get() const { return tensor; }
  };
  static bool read(const Value& v, Slot& slot, Context& context, ArgumentError& error);
};

template <class T>
struct Argument<std::optional<T>> {
  using Inner = Argument<T>;
  static constexpr std::string_view kType = Inner::kType;  // the "?" is added where types are printed
  static constexpr bool kIsList = Inner::kIsList, kInPlace = Inner::kInPlace;
  struct Slot {
    std::optional<typename Inner::Slot> inner;
    std::optional<T> get() const { return inner ? std::optional<T>(inner->get()) : std::nullopt; }
  };
  static bool read(const Value& v, Slot& slot, Context& context, ArgumentError& error) {
    if (v.is_null()) return true;
    return Inner::read(v, slot.inner.emplace(), context, error);
  }
};

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

}  // namespace krt
