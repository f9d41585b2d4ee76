#pragma once
// Variants: the implementations of one kernel, best first, and which of them serves a call.
//
// A kernel's k_simd.cc is compiled once per instruction set by Highway; its last part lists what came out:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "modules/decode/rmsnorm/rmsnorm_simd.cc"
//   #include "hwy/foreach_target.h"  // before highway.h
//   #include "hwy/highway.h"
//
//   HWY_BEFORE_NAMESPACE();
//   namespace krt::decode::HWY_NAMESPACE {
//   void normalise(const float* x, std::size_t n, float* out) { ... }
//   }  // namespace krt::decode::HWY_NAMESPACE
//   HWY_AFTER_NAMESPACE();
//
//   #if HWY_ONCE
//   namespace krt::decode {
//   const std::vector<Variant<Normalise>>& normalise_variants() {
//     static const auto list = simd_variants<Normalise>(KRT_SIMD_FORMS(normalise), normalise_scalar);
//     return list;
//   }
//   }  // namespace krt::decode
//   #endif
//
// where `using Normalise = void(const float* x, std::size_t n, float* out);`. The kernel asks for one per call,
//
//   const Variant<Normalise>& v = pick(context, normalise_variants(), {rows, d});
//   v.run(x, n, out);
//
// and declares them with .variants(infos(normalise_variants()), "rows x d"). What is compiled: avx3, avx2 and sse4,
// or neon; avx3_dl (VNNI) too where the source says `#define HWY_WANT_AVX3_DL` before its first include. An AMX form
// is a source file of its own; its row goes before the others.

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/dispatch/isa.h"
#include "runtime/exec/context.h"
#include "runtime/registry/declaration.h"

namespace krt {

// A yes/no question about a call, with a name: empty where the variant may serve the shape, else the gate's own name
// ("shape", "head_dim"). The kernel says what the numbers of its shape are. Asked with an empty shape, as by
// `describe`, a gate passes.
using Gate = std::string_view (*)(std::span<const std::int64_t> shape);

template <class Fn>
struct Variant {
  std::string_view name;  // the instruction set, and the algorithm where there are several: "avx3", "avx3/rows8"
  Fn* run;
  Isa isa;
  Gate gate = nullptr;  // null: every shape
};

// Why a variant of `isa` and `gate` cannot serve `shape` here: "cpu", "isa_cap", or the gate's answer; empty where it
// can.
std::string_view refusal(Isa isa, Gate gate, std::span<const std::int64_t> shape);

namespace detail {
// The sentence of an empty survivor set: "no variant serves the call: avx3 (isa_cap), scalar (forced)".
[[noreturn]] void throw_no_variant(std::string_view forced, std::span<const VariantInfo> variants,
                                   std::span<const std::int64_t> shape);
}  // namespace detail

// The same list as `describe` and `krt why` want it.
template <class Fn>
std::vector<VariantInfo> infos(const std::vector<Variant<Fn>>& variants) {
  std::vector<VariantInfo> out;
  out.reserve(variants.size());
  for (const Variant<Fn>& v : variants)
    out.push_back({v.name, [isa = v.isa, gate = v.gate](std::span<const std::int64_t> shape) {
                     return refusal(isa, gate, shape);
                   }});
  return out;
}

// The first variant that no gate refuses, or the one that the context forces; its name goes to context.variant.
// Throws StatusError (no_variant) where none survives, which the runtime answers as an error: a list that ends in an
// ungated scalar form has one always, unless a refused one is forced.
template <class Fn>
const Variant<Fn>& pick(Context& context, const std::vector<Variant<Fn>>& variants,
                        std::initializer_list<std::int64_t> shape = {}) {
  const std::span<const std::int64_t> dims(shape.begin(), shape.size());
  for (const Variant<Fn>& v : variants) {
    if (!context.force_variant.empty() && v.name != context.force_variant) continue;
    if (!refusal(v.isa, v.gate, dims).empty()) continue;
    context.variant = v.name;
    return v;
  }
  detail::throw_no_variant(context.force_variant, infos(variants), dims);
}

// Those that this machine runs (and KRT_ISA lets through): what a test walks.
template <class Fn>
std::vector<Variant<Fn>> variants_here(const std::vector<Variant<Fn>>& variants) {
  std::vector<Variant<Fn>> out;
  for (const Variant<Fn>& v : variants)
    if (refusal(v.isa, nullptr, {}).empty()) out.push_back(v);
  return out;
}

// One function pointer per compiled target of Highway, null where a target was not compiled. Use inside HWY_ONCE, in
// the namespace that encloses HWY_NAMESPACE.
#define KRT_SIMD_FORMS(fn) \
  { HWY_CHOOSE_AVX3_DL(fn), HWY_CHOOSE_AVX3(fn), HWY_CHOOSE_AVX2(fn), HWY_CHOOSE_SSE4(fn), HWY_CHOOSE_NEON(fn) }

inline constexpr std::array kSimdIsas{Isa::kAvx3Dl, Isa::kAvx3, Isa::kAvx2, Isa::kSse4, Isa::kNeon};
template <class Fn>
using SimdForms = std::array<Fn*, kSimdIsas.size()>;

// The list of a kernel: the forms that were compiled, best first, then the plain one.
template <class Fn>
std::vector<Variant<Fn>> simd_variants(const SimdForms<Fn>& forms, Fn* scalar) {
  std::vector<Variant<Fn>> out;
  for (std::size_t i = 0; i < forms.size(); ++i)
    if (forms[i] != nullptr) out.push_back({name_of(kSimdIsas[i]), forms[i], kSimdIsas[i]});
  out.push_back({name_of(Isa::kScalar), scalar, Isa::kScalar});
  return out;
}

}  // namespace krt
