#pragma once
// ModuleBuilder: how a kernel declares itself. The whole of a declaration:
//
//   void register_residual(Registry& registry) {
//     ModuleBuilder m(registry, "llmk.residual", "Residual-stream adds over whole flat buffers");
//     m.function<residual_add_flat>("residual_add_flat", "Elementwise sum of two whole flat buffers",
//                                   {{"a", "left operand, exactly n values"},
//                                    {"b", "right operand, exactly n values"},
//                                    {"n", "how many values, 1 to 2^24"}})
//         .statuses(kStatuses)
//         .example("[[0,1,2],[5,4,3],3]");
//   }
//
// Arity, types, defaults, result fields and the printable signature come from the C++ function. A missing name,
// an empty text, a summary of two lines or one that ends in a full stop, and a parameter or result type without a
// binding are compile errors.

#include <variant>

#include "runtime/registry/binding.h"
#include "runtime/registry/registry.h"

namespace krt {

// A text that is there: one line, no full stop at its end.
struct Text {
  consteval Text(const char* text) : text(text) {
    const std::string_view s = text;
    if (s.empty() || s.ends_with('.') || s.find('\n') != std::string_view::npos)
      throw "one line, not empty, no full stop at the end";
  }
  const char* text;
};

// One parameter: its name, what it means (units, length, range), and its default if it has one.
struct Arg {
  using Default = std::variant<std::monostate, std::nullptr_t, bool, std::int64_t, double, const char*>;
  consteval Arg(Text name, Text doc) : name(name), doc(doc) {}
  consteval Arg(Text name, Text doc, std::nullptr_t fallback) : name(name), doc(doc), fallback(fallback) {}
  consteval Arg(Text name, Text doc, bool fallback) : name(name), doc(doc), fallback(fallback) {}
  consteval Arg(Text name, Text doc, int fallback) : name(name), doc(doc), fallback(std::int64_t{fallback}) {}
  consteval Arg(Text name, Text doc, double fallback) : name(name), doc(doc), fallback(fallback) {}
  consteval Arg(Text name, Text doc, const char* fallback) : name(name), doc(doc), fallback(fallback) {}
  Text name, doc;
  Default fallback;
};

class FunctionBuilder {
 public:
  explicit FunctionBuilder(FunctionInfo& info) : info_(info) {}
  FunctionBuilder& details(Text text) {
    info_.details = text.text;
    return *this;
  }
  FunctionBuilder& statuses(StatusTable table) {
    info_.statuses = table;
    return *this;
  }
  FunctionBuilder& caps(const Capabilities& caps) {
    info_.caps = caps;
    return *this;
  }
  // Best first. `shape` names the numbers that choose among them, joined by " x ".
  FunctionBuilder& variants(std::vector<VariantInfo> list, std::string_view shape = {}) {
    info_.variants = std::move(list);
    info_.variant_shape = shape;
    return *this;
  }
  // JSON args of a call that works.
  FunctionBuilder& example(Text json) {
    info_.example = json.text;
    return *this;
  }

 private:
  FunctionInfo& info_;
};

class ModuleBuilder {
 public:
  ModuleBuilder(Registry& registry, Text module, Text summary) : registry_(registry), module_(module.text) {
    registry.describe_module(module.text, summary.text);
  }

  template <auto Fn, std::size_t N>
  FunctionBuilder function(Text name, Text summary, const Arg (&args)[N]) {
    static_assert(N == Binding<Fn>::kArity, "one {name, doc} for every parameter of the function");
    return declare<Fn>(name, summary, args);
  }
  template <auto Fn>
  FunctionBuilder function(Text name, Text summary) {
    static_assert(Binding<Fn>::kArity == 0, "one {name, doc} for every parameter of the function");
    return declare<Fn>(name, summary, {});
  }

 private:
  template <auto Fn>
  FunctionBuilder declare(Text name, Text summary, std::span<const Arg> args) {
    FunctionInfo& info = registry_.add(module_, name.text);
    info.summary = summary.text;
    info.thunk = &Binding<Fn>::call;
    add_params<Fn>(info, args, std::make_index_sequence<Binding<Fn>::kArity>{});
    add_result<typename Binding<Fn>::Return>(info);
    return FunctionBuilder(info);
  }

  template <auto Fn, std::size_t... I>
  static void add_params([[maybe_unused]] FunctionInfo& info, [[maybe_unused]] std::span<const Arg> args,
                         std::index_sequence<I...>) {
    (info.params.push_back(param<typename Binding<Fn>::template ParamType<I>>(args[I])), ...);
  }

  template <class T>
  static Param param(const Arg& arg) {
    using A = Argument<T>;
    Param p{arg.name.text, arg.doc.text, std::string(A::kType) + (is_optional<T> ? "?" : ""), {},
            A::kIsList,    A::kInPlace};
    if (is_optional<T>) p.fallback = Value();
    std::visit(
        [&]<class D>(D d) {
          if constexpr (!std::is_same_v<D, std::monostate>) p.fallback = Value(d);
        },
        arg.fallback);
    return p;
  }

  template <class R>
  static void add_result(FunctionInfo& info) {
    if constexpr (ResultStruct<R>) {
      info.result_struct = Returned<R>::kType;
      info.fields = Returned<R>::fields();
      for (std::size_t i = 0; i < info.fields.size(); ++i)
        if (info.fields[i].name == "status" && info.fields[i].type == "int") info.status_field = static_cast<int>(i);
    } else {
      info.fields = {{"", std::string(Returned<R>::kType)}};
    }
  }

  Registry& registry_;
  const char* module_;
};

}  // namespace krt
