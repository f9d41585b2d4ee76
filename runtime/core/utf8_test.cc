#include "runtime/core/utf8.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace krt {
namespace {

// The oracle decodes by arithmetic and then asks whether the code point may be written so; the code under test
// compares bytes with the ranges of the standard's table.
std::size_t oracle(std::string_view text) {
  if (text.empty()) return 0;
  const auto bits = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  if (bits(0) < 0x80) return 1;
  std::size_t length = 0;
  while (length < 8 && (bits(0) << length & 0x80U) != 0) ++length;
  if (length < 2 || length > 4 || text.size() < length) return 0;
  unsigned point = bits(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (bits(i) >> 6U != 2) return 0;
    point = point << 6U | (bits(i) & 0x3FU);
  }
  constexpr unsigned kFirst[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return point < kFirst[length] || point > 0x10FFFF || surrogate ? 0 : length;
}

TEST(Utf8, AgreesWithTheOracleOnEverySequenceOfThreeBytes) {
  std::array<char, 3> bytes{};
  for (unsigned i = 0; i < 1U << 24U; ++i) {
    bytes = {static_cast<char>(i >> 16U), static_cast<char>(i >> 8U), static_cast<char>(i)};
    const std::string_view text(bytes.data(), 3);
    ASSERT_EQ(utf8_sequence_length(text), oracle(text)) << std::hex << i;
  }
}

TEST(Utf8, AgreesWithTheOracleOnSequencesOfFourBytes) {
  constexpr std::array<unsigned, 8> kTails{0x00, 0x7F, 0x80, 0x8F, 0x90, 0xBF, 0xC0, 0xFF};
  for (unsigned lead = 0xE0; lead <= 0xFF; ++lead)
    for (unsigned second = 0; second <= 0xFF; ++second)
      for (const unsigned third : kTails)
        for (const unsigned fourth : kTails) {
          const std::string text{static_cast<char>(lead), static_cast<char>(second), static_cast<char>(third),
                                 static_cast<char>(fourth)};
          ASSERT_EQ(utf8_sequence_length(text), oracle(text));
        }
}

TEST(Utf8, WholeTexts) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8(std::string("a\0b", 3)));
  EXPECT_TRUE(is_utf8("\xF0\x9F\x98\x80 \xE2\x82\xAC \xC3\xA9"));
  EXPECT_FALSE(is_utf8("abc\xC3"));
  EXPECT_FALSE(is_utf8("\x80"));
  EXPECT_EQ(utf8_sequence_length(""), 0U);
  EXPECT_EQ(utf8_sequence_length("\xE2\x82"), 0U) << "cut short";
}

// The check takes eight bytes at a time where it can.
TEST(Utf8, AtEveryPlaceOfATextOfEveryLength) {
  for (std::size_t size = 1; size <= 24; ++size) {
    const std::string ascii(size, '\x7F');
    EXPECT_TRUE(is_utf8(ascii));
    for (std::size_t at = 0; at < size; ++at) {
      EXPECT_FALSE(is_utf8(std::string(ascii).replace(at, 1, "\x80"))) << at << " of " << size;
      EXPECT_TRUE(is_utf8(std::string(ascii).replace(at, 1, "\xC3\xA9"))) << at << " of " << size;
    }
  }
}

}  // namespace
}  // namespace krt
