#pragma once
// What the registry knows of a function: everything that `describe` prints, plus how to call it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/value.h"
#include "runtime/exec/context.h"

namespace krt {

struct Param {
  std::string name;
  std::string doc;
  std::string type;  // "int", "float", "bool", "string", "f64[n]", "f32[n]&" (changed in place), ...
  std::optional<Value> fallback;
  bool is_list = false;  // takes a flat list: see docs/protocol.md on functions of one list parameter
  bool in_place = false;
};

struct ResultField {
  std::string name;  // empty where the result is no struct
  std::string type;
};

// One code of a family's numeric vocabulary.
struct StatusEntry {
  std::int64_t code;
  std::string_view name;  // "llmk_ok"
  std::string_view meaning;
};
using StatusTable = std::span<const StatusEntry>;
// The name of `code`, or of the table's fallback entry `unknown`.
std::string_view status_name(StatusTable table, std::int64_t code, std::string_view unknown);

enum class Determinism : std::uint8_t {
  kBitExact,            // the same bits from every variant, thread count and machine
  kBitExactPerVariant,  // the same bits for one variant, whatever the thread count
};
enum class Seed : std::uint8_t { kNone, kOptional, kRequired };
enum class SideEffects : std::uint8_t { kNone, kChangesArguments, kChangesHandles, kReadsFiles };

// What a caller may rely on; the registry walk in tests/ checks each of them.
struct Capabilities {
  Determinism determinism = Determinism::kBitExact;
  Seed seed = Seed::kNone;
  SideEffects side_effects = SideEffects::kNone;
};
std::string_view name_of(Determinism d);
std::string_view name_of(Seed s);
std::string_view name_of(SideEffects s);

// An implementation of a kernel. `refusal` answers empty, or the name of the gate that refuses it on this machine for
// a call of that shape; an empty shape asks about the machine alone (runtime/dispatch/variant.h).
struct VariantInfo {
  std::string_view name;
  std::function<std::string_view(std::span<const std::int64_t> shape)> refusal;
};

struct FunctionInfo;
// Reads `args` (one per parameter), runs the kernel, writes its value to `out`.
using Thunk = Status (*)(const FunctionInfo& info, Context& context, std::span<const Value> args, Value& out,
                         Dict* mutated);

struct FunctionInfo {
  std::string module;
  std::string name;
  std::string summary;  // one line
  std::string details;  // the contract in sentences; may be empty
  std::vector<Param> params;
  std::string result_struct;  // "ResidResult"; empty where the result is a bare value
  std::vector<ResultField> fields;
  Capabilities caps;
  StatusTable statuses;
  std::vector<VariantInfo> variants;  // best first
  std::string variant_shape;          // what the gates' shape holds, "rows x d"; empty where none asks for it
  std::string example;                // JSON args of a call that works; the registry walk runs it
  Thunk thunk = nullptr;
  int status_field = -1;  // which field of the result is the kernel's numeric status

  [[nodiscard]] bool internal() const { return name.starts_with('_'); }
  [[nodiscard]] std::string full_name() const { return module + "." + name; }
  // "residual_add_flat(a: f64[n], b: f64[n], n: int) -> ResidResult{out: f64[n], n: int, status: int}"
  [[nodiscard]] std::string signature() const;
  // All of the above as a dict, for describe.
  [[nodiscard]] Dict describe() const;
};

}  // namespace krt
