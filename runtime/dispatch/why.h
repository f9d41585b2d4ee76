#pragma once
// why: which variant serves a call of a given shape on this machine and, for every other one, what refused it.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/registry/declaration.h"

namespace krt {

struct WhyRow {
  std::string_view variant;
  std::string_view
      refused_by;  // a gate ("cpu", "isa_cap", "shape", ...), or "order": a better one serves; empty: serves
};

struct Why {
  std::vector<WhyRow> rows;    // in the order of the route; a kernel without variants has the one row "reference"
  std::string_view served_by;  // empty: every variant was refused
};

// `shape` holds the numbers that info.variant_shape names ("rows x d"); empty asks about the machine only. Refused:
// another count of numbers, or a negative one.
Result<Why> why(const FunctionInfo& info, std::span<const std::int64_t> shape);

// "1x4096" to {1, 4096}. Refused: anything but whole numbers of 0 or more, joined by x.
Result<std::vector<std::int64_t>> parse_shape(std::string_view text);

// OK, or the named refusal (no_variant) of an empty survivor set.
Status survivor(const FunctionInfo& info, const Why& why);

}  // namespace krt
