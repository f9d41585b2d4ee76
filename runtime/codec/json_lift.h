#pragma once
// The part of JSON that nlohmann's lexer is too slow for, or refuses by design, taken out of a text beforehand.
//
// A flat array of numbers is read straight into a tensor (151,936 doubles of 17 digits: 3 ms, where nlohmann takes
// 29), and so are the bare tokens NaN, Infinity and -Infinity. In the reduced text each of them is an empty array,
// known by how many '[' stand before it, so that nlohmann still judges where a value may stand.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/value.h"

namespace krt::detail {

// "malformed JSON at byte 17: <what>"
Status malformed_json(std::size_t offset, std::string_view what);
Status too_many_json_values(std::size_t offset);

struct LiftedJson {
  struct Entry {
    std::size_t ordinal;  // of its '[' among those of `text` outside strings
    Value value;
  };
  struct Anchor {
    std::size_t reduced, original;  // two offsets of one place
  };
  std::string text;
  std::vector<Entry> values;    // in the order of the text
  std::vector<Anchor> anchors;  // in the order of the text

  [[nodiscard]] std::size_t original_offset(std::size_t reduced) const;
};

// Which arrays stay as they are, whatever they hold.
enum class Keep {
  kNone,
  kOutermost,  // the one that is the whole text
  kArgs,       // the members "args"
};

// Refuses a NUL byte, nesting over kMaxJsonDepth, over kMaxJsonValues lifted values and numbers that fit no int64 or no
// double, before anything else is done with the text.
Result<LiftedJson> lift_json(std::string_view text, Keep keep);

}  // namespace krt::detail
