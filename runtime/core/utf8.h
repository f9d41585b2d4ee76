#pragma once
// Well-formed UTF-8 as table 3-7 of the Unicode standard defines it (no overlong forms, no surrogates).

#include <cstddef>
#include <string>
#include <string_view>

namespace krt {

// Bytes of the well-formed sequence at the front of `text` (1 to 4); 0 where there is none.
std::size_t utf8_sequence_length(std::string_view text);
bool is_utf8(std::string_view text);

// Bytes of the maximal ill-formed part at the front of `text` (1 to 3), which is not empty and does not begin with a
// well-formed sequence: the bytes that begin some character, or one byte. One U+FFFD stands for such a part (the
// standard's recommended practice, section 3.9).
std::size_t utf8_ill_formed_length(std::string_view text);
// `text` with U+FFFD in place of every ill-formed part.
std::string utf8_repaired(std::string_view text);
// Bytes of `text` without a character at its end that more bytes could still make whole.
std::size_t utf8_whole_length(std::string_view text);

}  // namespace krt
