#include "engine/tokenizer/byte_level.h"

#include <array>
#include <cstdint>

#include "engine/tokenizer/unicode.h"
#include "runtime/core/utf8.h"

namespace krt::engine {
namespace {

constexpr std::size_t kAlphabet = 0x144;

// From code point to byte; -1: none.
constexpr std::array<std::int16_t, kAlphabet> kByteOf = [] {
  std::array<std::int16_t, kAlphabet> map{};
  map.fill(-1);
  std::size_t next = 0x100;
  for (std::int16_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    map[printable ? static_cast<std::size_t>(b) : next++] = b;
  }
  return map;
}();

}  // namespace

bool append_spelled_bytes(std::string_view text, std::string& out) {
  const std::size_t before = out.size();
  if (!is_utf8(text)) return false;
  for (std::size_t at = 0; at < text.size();) {
    const Char c = char_at(text, at);
    at += c.bytes;
    if (c.code >= kAlphabet || kByteOf[c.code] < 0) {
      out.resize(before);
      return false;
    }
    out.push_back(static_cast<char>(kByteOf[c.code]));
  }
  return true;
}

}  // namespace krt::engine
