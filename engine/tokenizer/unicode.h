#pragma once
// What tokenizers ask of Unicode: classes of code points, simple case folding, NFC. The tables are utf8proc's.
//
// A krt built without utf8proc (KRT_UTF8PROC=OFF, for cross builds) has unicode_missing.cc in place of unicode.cc: no
// tokenizer can be made there.

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/core/status.h"

namespace krt::engine {

enum class CharClass : std::uint8_t {
  kEnd,     // no code point: the text is over
  kLetter,  // \p{L}
  kNumber,  // \p{N}
  kSpace,   // White_Space
  kOther,
};

// One code point of a well-formed text.
struct Char {
  char32_t code = 0;
  CharClass kind = CharClass::kEnd;
  std::size_t bytes = 0;
};

// OK where the tables are there.
Status unicode_ready();
CharClass class_of(char32_t code);
// To what a search without regard to case compares: 's' for 'S' and U+017F.
char32_t folded(char32_t code);
// `text`, which is well-formed, in normalization form C.
std::string composed(std::string_view text);

// The code point that begins at byte `at` of `text`, which is well-formed.
inline Char char_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  const char32_t lead = byte(0);
  Char c;
  if (lead < 0x80) {
    c = {lead, {}, 1};
  } else if (lead < 0xE0) {
    c = {(lead & 0x1FU) << 6U | (byte(1) & 0x3FU), {}, 2};
  } else if (lead < 0xF0) {
    c = {(lead & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU), {}, 3};
  } else {
    c = {(lead & 0x07U) << 18U | (byte(1) & 0x3FU) << 12U | (byte(2) & 0x3FU) << 6U | (byte(3) & 0x3FU), {}, 4};
  }
  c.kind = class_of(c.code);
  return c;
}

}  // namespace krt::engine
