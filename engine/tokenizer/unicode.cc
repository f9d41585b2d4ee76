#include "engine/tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

namespace krt::engine {
namespace {

CharClass look_up(char32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return CharClass::kLetter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return CharClass::kNumber;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return CharClass::kSpace;
    default: break;
  }
  // White_Space is the separators and these controls.
  return (code >= '\t' && code <= '\r') || code == 0x85 ? CharClass::kSpace : CharClass::kOther;
}

constexpr auto kForm = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

std::vector<utf8proc_int32_t> decomposed(std::string_view text) {
  constexpr utf8proc_ssize_t kLongest = 8;  // no canonical decomposition is longer than 4
  std::vector<utf8proc_int32_t> out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Char c = char_at(text, at);
    at += c.bytes;
    const std::size_t old = out.size();
    out.resize(old + kLongest);
    int boundary = 0;
    const utf8proc_ssize_t n =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.code), out.data() + old, kLongest, kForm, &boundary);
    out.resize(old + static_cast<std::size_t>(n));
  }
  return out;
}

// Canonical order of combining marks. utf8proc's own is an insertion sort, which a long run of marks makes quadratic.
void sort_marks(std::vector<utf8proc_int32_t>& codes) {
  const auto rank = [](utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; };
  for (auto from = codes.begin(); from != codes.end();) {
    from = std::find_if(from, codes.end(), [&](auto c) { return rank(c) != 0; });
    const auto to = std::find_if(from, codes.end(), [&](auto c) { return rank(c) == 0; });
    std::stable_sort(from, to, [&](auto a, auto b) { return rank(a) < rank(b); });
    from = to;
  }
}

}  // namespace

Status unicode_ready() { return {}; }

CharClass class_of(char32_t code) {
  // One byte for each code point of the basic plane: a quarter of utf8proc's time.
  static const std::array<CharClass, 0x10000> plane = [] {
    std::array<CharClass, 0x10000> p{};
    for (char32_t c = 0; c < p.size(); ++c) p[c] = look_up(c);
    return p;
  }();
  return code < plane.size() ? plane[code] : look_up(code);
}

char32_t folded(char32_t code) {
  return static_cast<char32_t>(utf8proc_tolower(utf8proc_toupper(static_cast<utf8proc_int32_t>(code))));
}

std::string composed(std::string_view text) {
  // No code point below U+0300 (which is CC 80) is changed by NFC or composes with another such one.
  bool plain = true;
  for (const char c : text) plain = plain && static_cast<unsigned char>(c) < 0xCC;
  if (plain) return std::string(text);
  std::vector<utf8proc_int32_t> codes = decomposed(text);
  sort_marks(codes);
  const utf8proc_ssize_t n = utf8proc_normalize_utf32(codes.data(), std::ssize(codes), kForm);
  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < n; ++i) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const utf8proc_ssize_t length = utf8proc_encode_char(codes[static_cast<std::size_t>(i)], bytes.data());
    out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
  }
  return out;
}

}  // namespace krt::engine
