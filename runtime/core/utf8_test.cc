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

// The examples of the Unicode standard, tables 3-8 to 3-11.
TEST(Utf8, OneReplacementForEachMaximalPart) {
  const std::string r = "\xEF\xBF\xBD";
  const auto times = [&](int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += r;
    return out;
  };
  EXPECT_EQ(utf8_repaired("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82"
                          "A"),
            times(8) + "A")
      << "overlong";
  EXPECT_EQ(utf8_repaired("\xED\xA0\x80\xED\xBF\xBF\xED\xAF"
                          "A"),
            times(8) + "A")
      << "surrogates";
  EXPECT_EQ(utf8_repaired("\xF4\x91\x92\x93\xFF"
                          "A\x80\xBF"
                          "B"),
            times(5) + "A" + times(2) + "B");
  EXPECT_EQ(utf8_repaired("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
                          "A"),
            times(4) + "A")
      << "truncated";
  EXPECT_EQ(utf8_repaired(""), "");
  EXPECT_EQ(utf8_repaired("\xF0\x9F\x98\x80 \xC3\xA9"), "\xF0\x9F\x98\x80 \xC3\xA9");
}

// Every cut of a text: the whole part is the characters before the cut, and what is cut off is never more than three
// bytes.
TEST(Utf8, ACharacterThatIsCutIsHeldBack) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
  std::size_t whole = 0;
  for (std::size_t n = 0; n <= text.size(); ++n) {
    if (is_utf8(text.substr(0, n))) whole = n;
    EXPECT_EQ(utf8_whole_length(text.substr(0, n)), whole) << n;
  }
  EXPECT_EQ(utf8_whole_length("a\x80\x80"), 3U) << "no byte can mend these";
  EXPECT_EQ(utf8_whole_length("a\xED\xA0"), 3U) << "a surrogate";
  EXPECT_EQ(utf8_whole_length("\xF0\x9F"), 0U);
}

}  // namespace
}  // namespace krt
