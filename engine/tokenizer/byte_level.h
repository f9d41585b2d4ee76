#pragma once
// The byte-level alphabet of GPT-2: every byte written as a printable code point, so that a vocabulary is text.
//
// A byte that is printable in Latin-1 (21 to 7E, A1 to AC, AE to FF) stands for itself; the other 68, in their order,
// are U+0100 to U+0143.

#include <string>
#include <string_view>

namespace krt::engine {

// The bytes that `text` spells, put behind `out`; false (and `out` as it was) where a code point spells none.
bool append_spelled_bytes(std::string_view text, std::string& out);

}  // namespace krt::engine
