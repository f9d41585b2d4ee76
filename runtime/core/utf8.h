#pragma once
// Well-formed UTF-8 as table 3-7 of the Unicode standard defines it (no overlong forms, no surrogates).

#include <cstddef>
#include <string_view>

namespace krt {

// Bytes of the well-formed sequence at the front of `text` (1 to 4); 0 where there is none.
std::size_t utf8_sequence_length(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace krt
