#pragma once
// Returned<T>: how a kernel's C++ result becomes a Value, and how its type is spelled.
//
// A struct result names its fields beside them:
//
//   struct ResidResult {
//     std::vector<double> out;
//     std::int64_t n;
//     std::int64_t status;
//     static constexpr std::array kFields{"out", "n", "status"};
//   };
//
// It becomes a dict in that order. A count of names other than the count of fields is a compile error.

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/core/value.h"
#include "runtime/registry/declaration.h"

namespace krt {

template <class T>
struct Returned;

namespace detail {

template <class T, class Stored>
struct BareResult {
  static Value to_value(T v) { return Value(Stored(std::move(v))); }
};

// The unqualified name of T, out of the compiler's own spelling of this function.
template <class T>
constexpr std::string_view type_name() {
  std::string_view s = __PRETTY_FUNCTION__;
  s = s.substr(s.find("T = ") + 4);
  s = s.substr(0, s.find_first_of(";]"));
  const auto colons = s.rfind("::");
  return colons == std::string_view::npos ? s : s.substr(colons + 2);
}

struct Anything {
  template <class T>
  operator T() const;
};
template <class T, class... Fields>
consteval std::size_t count_fields(Fields... fields) {
  if constexpr (requires { T{fields..., Anything{}}; })
    return count_fields<T>(fields..., Anything{});
  else
    return sizeof...(Fields);
}

template <class T>
auto tie_fields(T& s) {
  constexpr std::size_t n = count_fields<T>();
  static_assert(n >= 1 && n <= 10, "a result struct has 1 to 10 fields");
  if constexpr (n == 1) {
    auto& [a] = s;
    return std::tie(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = s;
    return std::tie(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = s;
    return std::tie(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = s;
    return std::tie(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = s;
    return std::tie(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = s;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = s;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = s;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = s;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  }
}

}  // namespace detail

#define KRT_BARE_RESULT(T, Stored, spelling)            \
  template <>                                           \
  struct Returned<T> : detail::BareResult<T, Stored> {  \
    static constexpr std::string_view kType = spelling; \
  }
KRT_BARE_RESULT(std::int64_t, std::int64_t, "int");
KRT_BARE_RESULT(double, double, "float");
KRT_BARE_RESULT(bool, bool, "bool");
KRT_BARE_RESULT(std::string, std::string, "string");
KRT_BARE_RESULT(std::string_view, std::string_view, "string");
KRT_BARE_RESULT(std::vector<double>, std::vector<double>, "f64[n]");
KRT_BARE_RESULT(std::vector<float>, std::vector<float>, "f32[n]");
KRT_BARE_RESULT(std::vector<std::int64_t>, std::vector<std::int64_t>, "i64[n]");
KRT_BARE_RESULT(Tensor, Tensor, "tensor");
KRT_BARE_RESULT(Handle, Handle, "handle");
KRT_BARE_RESULT(List, List, "list");
KRT_BARE_RESULT(Dict, Dict, "dict");
KRT_BARE_RESULT(Value, Value, "any");
#undef KRT_BARE_RESULT

template <class T>
concept ResultStruct = requires {
  T::kFields;
};

template <ResultStruct T>
struct Returned<T> {
  static_assert(T::kFields.size() == detail::count_fields<T>(), "one name in kFields for every field");
  static constexpr std::string_view kType = detail::type_name<T>();

  static Value to_value(T s) {
    auto fields = detail::tie_fields(s);
    Dict dict;
    dict.reserve(T::kFields.size());
    std::apply(
        [&]<class... F>(F&... field) {
          std::size_t i = 0;
          (dict.emplace_back(T::kFields[i++], Returned<F>::to_value(std::move(field))), ...);
        },
        fields);
    return dict;
  }
  static std::vector<ResultField> fields() {
    std::vector<ResultField> out;
    [&]<class... F>(std::tuple<F&...>*) {
      std::size_t i = 0;
      (out.push_back({T::kFields[i++], std::string(Returned<F>::kType)}), ...);
    }(static_cast<decltype(detail::tie_fields(std::declval<T&>()))*>(nullptr));
    return out;
  }
};

}  // namespace krt
