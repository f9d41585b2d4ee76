#pragma once
// From a C++ function to a callable that takes Values: the signature is the schema.
//
// A kernel may take `Context&` first; it is no argument. It returns a type that Returned<> knows, or a Result of
// one where it can fail in a way that has no numeric status (a file that cannot be opened).

#include <tuple>
#include <utility>

#include "runtime/registry/arguments.h"
#include "runtime/registry/declaration.h"
#include "runtime/registry/results.h"

namespace krt {
namespace detail {

template <class T>
struct Unwrapped {
  using type = T;
};
template <class T>
struct Unwrapped<Result<T>> {
  using type = T;
};

template <class R, bool kContext, class... P>
struct SignatureOf {
  using Return = typename Unwrapped<R>::type;
  using Slots = std::tuple<typename Argument<std::remove_cvref_t<P>>::Slot...>;
  using Arguments = std::tuple<Argument<std::remove_cvref_t<P>>...>;
  template <std::size_t I>
  using ParamType = std::remove_cvref_t<std::tuple_element_t<I, std::tuple<P...>>>;
  static constexpr std::size_t kArity = sizeof...(P);
  static constexpr bool kTakesContext = kContext;
  static constexpr bool kFallible = !std::is_same_v<R, Return>;
};

template <class F>
struct Signature;
template <class R, class... P>
struct Signature<R (*)(P...)> : SignatureOf<R, false, P...> {};
template <class R, class... P>
struct Signature<R (*)(Context&, P...)> : SignatureOf<R, true, P...> {};

// "llmk.residual.residual_add_flat: argument 'b' must be f64[n], got string"
Status argument_error(const FunctionInfo& info, std::size_t i, const Value& got, ArgumentError error);

}  // namespace detail

template <auto Fn>
struct Binding : detail::Signature<decltype(Fn)> {
  using S = detail::Signature<decltype(Fn)>;

  static Status call(const FunctionInfo& info, Context& context, std::span<const Value> args, Value& out,
                     Dict* mutated) {
    return call_with(info, context, args, out, mutated, std::make_index_sequence<S::kArity>{});
  }

 private:
  template <std::size_t... I>
  static Status call_with(const FunctionInfo& info, Context& context, std::span<const Value> args, Value& out,
                          Dict* mutated, std::index_sequence<I...>) {
    typename S::Slots slots;
    ArgumentError error;
    std::size_t bad = S::kArity;
    static_cast<void>(
        ((std::tuple_element_t<I, typename S::Arguments>::read(args[I], std::get<I>(slots), context, error) ||
          (bad = I, false)) &&
         ...));
    if (bad != S::kArity) return detail::argument_error(info, bad, args[bad], std::move(error));

    const auto invoke = [&] {
      if constexpr (S::kTakesContext)
        return Fn(context, std::get<I>(slots).get()...);
      else
        return Fn(std::get<I>(slots).get()...);
    };
    if constexpr (S::kFallible) {
      auto result = invoke();
      if (!result.ok()) return result.status();
      out = Returned<typename S::Return>::to_value(std::move(result).value());
    } else {
      out = Returned<typename S::Return>::to_value(invoke());
    }
    if (mutated != nullptr) (collect<I>(info, slots, *mutated), ...);
    return {};
  }

  template <std::size_t I>
  static void collect(const FunctionInfo& info, const typename S::Slots& slots, Dict& mutated) {
    const auto add = [&](const auto& slot) {
      if (!slot.resident) mutated.emplace_back(info.params[I].name, slot.tensor);
    };
    if constexpr (!std::tuple_element_t<I, typename S::Arguments>::kInPlace)
      return;
    else if constexpr (!is_optional<typename S::template ParamType<I>>)
      add(std::get<I>(slots));
    else if (std::get<I>(slots).inner)
      add(*std::get<I>(slots).inner);
  }
};

}  // namespace krt
