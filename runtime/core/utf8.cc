#include "runtime/core/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace krt {
namespace {

unsigned char byte(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

// A row of table 3-7: what may follow a leading byte. Bytes after the second are 80 to BF.
struct Row {
  std::size_t length;  // of the sequence; 0: no leading byte
  unsigned char low, high;
};
Row row_of(unsigned char lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xC2 || lead > 0xF4) return {0, 0, 0};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};  // less is overlong
  if (lead == 0xED) return {3, 0x80, 0x9F};  // more is a surrogate
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};  // less is overlong
  if (lead == 0xF4) return {4, 0x80, 0x8F};  // more is beyond U+10FFFF
  return {4, 0x80, 0xBF};
}

// How many bytes at the front of `text` agree with the row of its first one.
std::size_t agreeing(std::string_view text, const Row& row) {
  if (row.length == 0) return 0;
  std::size_t n = 1;
  while (n < row.length && n < text.size()) {
    const unsigned char b = byte(text, n);
    if (b < (n == 1 ? row.low : 0x80) || b > (n == 1 ? row.high : 0xBF)) break;
    ++n;
  }
  return n;
}

// Most text is ASCII, and megabytes of JSON are checked: eight bytes at a time.
bool eight_ascii(std::string_view text) {
  std::uint64_t word = 0x80;
  if (text.size() >= sizeof word) std::memcpy(&word, text.data(), sizeof word);
  return (word & 0x8080808080808080U) == 0;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) {
  if (text.empty()) return 0;
  const Row row = row_of(byte(text, 0));
  return agreeing(text, row) == row.length ? row.length : 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = eight_ascii(text) ? 8 : utf8_sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::size_t utf8_ill_formed_length(std::string_view text) {
  return std::max<std::size_t>(1, agreeing(text, row_of(byte(text, 0))));
}

std::string utf8_repaired(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = utf8_sequence_length(text);
    if (length != 0) {
      out += text.substr(0, length);
    } else {
      length = utf8_ill_formed_length(text);
      out += "\xEF\xBF\xBD";
    }
    text.remove_prefix(length);
  }
  return out;
}

std::size_t utf8_whole_length(std::string_view text) {
  for (std::size_t n = 1; n <= 3 && n <= text.size(); ++n) {
    const std::string_view tail = text.substr(text.size() - n);
    const Row row = row_of(byte(tail, 0));
    if (row.length > n && agreeing(tail, row) == n) return text.size() - n;
  }
  return text.size();
}

}  // namespace krt
