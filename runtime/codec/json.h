#pragma once
// JSON <-> Value, the one codec behind the JSON service, the worker and the command line.
//
// Text to Value (docs/protocol.md has the rules in full):
// - a flat array of numbers becomes a tensor, i64 where every number is an integer token, else f64; any other
//   array is a list; an object is a dict
// - an integer token must fit an int64, another number must be finite in a double (1e999 is refused)
// - the bare tokens NaN, Infinity and -Infinity are numbers; as strings they are accepted wherever a kernel
//   wants a number
// - {"$handle": "h-..."} is a handle
// - refused with the byte offset: malformed text, duplicate keys, ill-formed UTF-8, nesting over kMaxJsonDepth,
//   more than kMaxJsonValues values, anything after the text
//
// Value to text: a tensor is the (nested) array of its values, f16 and bf16 as the f32 they are.

#include <string>
#include <string_view>

#include "runtime/api.h"
#include "runtime/core/value.h"

namespace krt {

inline constexpr int kMaxJsonDepth = 64;
// Values in one text, at any depth; a flat array of numbers that becomes a tensor is one as a whole. A value takes up
// to 400 bytes while it is parsed, and "[1]," 293: without a bound 64 MiB of that would take 4.9 GB.
inline constexpr std::size_t kMaxJsonValues = std::size_t{1} << 20U;

Result<Value> parse_json(std::string_view text);
// The args of execute: like parse_json, but the elements of a top-level array stay separate values ([6,6,6] is
// three ints, not a tensor). Empty text is null.
Result<Value> parse_json_args(std::string_view text);
// A message that carries such args: like parse_json, but the elements of an array that is a member "args" stay
// separate.
Result<Value> parse_json_message(std::string_view text);

enum class NonFinite {
  kStrings,  // "NaN", "Infinity", "-Infinity": strict JSON
  kTokens,   // NaN, Infinity, -Infinity: what Python's json module writes and reads
};
// Doubles in the shortest form that reads back to the same bits, always with a point or an exponent (2.0).
std::string to_json(const Value& value, NonFinite non_finite = NonFinite::kStrings);
// The same for who must not write more: resource_exhausted where the text is longer, found out soon after `max_bytes`.
Result<std::string> to_json_within(std::size_t max_bytes, const Value& value,
                                   NonFinite non_finite = NonFinite::kStrings);

// The result object that `krt execute --format json` prints: module, function, request_id, success, result,
// status, status_name, error_code, error, latency_ms, engine_used; changed arguments under "mutated".
std::string to_json(const ExecuteResult& result);

}  // namespace krt
