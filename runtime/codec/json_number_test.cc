#include "runtime/codec/json_number.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"

namespace krt::detail {
namespace {

using krt::testing::GuardedBuffer;
using krt::testing::Rng;

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

// Whether all of `text` is read as a float, to the bits that the C library's strtod reads.
::testing::AssertionResult as_strtod(const std::string& text) {
  JsonNumber n;
  const char* const last = text.data() + text.size();
  if (read_json_number(text.data(), last, n) != last) return ::testing::AssertionFailure() << text << " is not read";
  if (n.integer) return ::testing::AssertionFailure() << text << " is read as an integer";
  const double want = std::strtod(text.c_str(), nullptr);
  if (n.fits != std::isfinite(want)) return ::testing::AssertionFailure() << text << ": fits " << n.fits;
  if (n.fits && bits(n.value) != bits(want))
    return ::testing::AssertionFailure() << text << " is " << want << ", got " << n.value;
  return ::testing::AssertionSuccess();
}

std::string printed(const char* format, int digits, double x) {
  char buffer[1200];
  std::snprintf(buffer, sizeof buffer, format, digits, x);
  return buffer;
}

// The fewest digits that read back; with a point, so that it is no integer.
std::string shortest(double x, std::chars_format format) {
  char buffer[1200];
  const std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, x, format).ptr);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

double random_finite(Rng& rng) {
  for (;;)
    if (const double x = std::bit_cast<double>(rng.engine()()); std::isfinite(x)) return x;
}

TEST(JsonNumber, FloatsAsTheCLibraryReadsThem) {
  Rng rng(31);
  SCOPED_TRACE(rng.trace());
  for (int i = 0; i < 20000; ++i) {
    const double any = random_finite(rng), logit = rng.normal() * 10, small = rng.uniform() * std::exp2(-20 * i % 80);
    for (const double x : {any, logit, small, static_cast<double>(static_cast<float>(logit))}) {
      ASSERT_TRUE(as_strtod(shortest(x, std::chars_format::scientific)));
      ASSERT_TRUE(as_strtod(shortest(x, std::chars_format::fixed)));
      ASSERT_TRUE(as_strtod(printed("%.*e", static_cast<int>(rng.integer(1, 30)), x)));
    }
    ASSERT_TRUE(as_strtod(printed("%.*f", static_cast<int>(rng.integer(1, 40)), logit)));
    ASSERT_TRUE(as_strtod(printed("%.*e", 16, std::bit_cast<double>(rng.engine()() >> 12U))));  // subnormal
  }
}

TEST(JsonNumber, EveryCountOfDigitsBeforeAndBehindThePoint) {
  Rng rng(32);
  SCOPED_TRACE(rng.trace());
  for (int whole = 1; whole <= 24; ++whole)
    for (int fraction = 1; fraction <= 40; ++fraction)
      for (int i = 0; i < 20; ++i) {
        std::string text(static_cast<std::size_t>(whole + 1 + fraction), '0');
        for (char& c : text) c = static_cast<char>('0' + rng.integer(0, 9));
        if (whole > 1 && text[0] == '0') text[0] = '7';
        text[static_cast<std::size_t>(whole)] = '.';
        ASSERT_TRUE(as_strtod(text));
        ASSERT_TRUE(as_strtod("-" + text + "e-" + std::to_string(i)));
      }
}

// digits / 10^places in decimal.
std::string with_point(unsigned __int128 digits, std::size_t places) {
  std::string text;
  for (; digits != 0 || text.size() <= places; digits /= 10) text.insert(0, 1, static_cast<char>('0' + digits % 10));
  return text.insert(text.size() - places, ".");
}

// The middle between two doubles is (2m + 1) / 2^k with 53 bits of m, in decimal (2m + 1) 5^k / 10^k; and what differs
// from it in the last digit.
TEST(JsonNumber, Ties) {
  Rng rng(33);
  SCOPED_TRACE(rng.trace());
  for (int i = 0; i < 2000; ++i) {
    const auto m = static_cast<unsigned __int128>(rng.integer(std::int64_t{1} << 52U, (std::int64_t{1} << 53U) - 1));
    unsigned __int128 middle = 2 * m + 1;
    for (std::size_t k = 1; k <= 24; ++k) {
      middle *= 5;
      for (const unsigned __int128 digits : {middle - 1, middle, middle + 1}) {
        ASSERT_TRUE(as_strtod(with_point(digits, k)));
        ASSERT_TRUE(as_strtod(with_point(digits * 10, k + 1)));
      }
    }
  }
}

TEST(JsonNumber, Edges) {
  for (const char* text : {"0.0",
                           "-0.0",
                           "0e5",
                           "-0e-5",
                           "0.000e-999",
                           "0.0e9999999999",
                           "1e22",
                           "1e23",
                           "1e-22",
                           "1e-23",
                           "1e-27",
                           "1e-28",
                           "1.5E+3",
                           "1.5e-05",
                           "123456789012345678e-27",
                           "9007199254740993.0",
                           "9007199254740992.9999999999",
                           "9223372036854775807.5",
                           "18446744073709551615.0",
                           "18446744073709551616.0",
                           "1844674407370955161.5",
                           "0.00000000000000000000000000012345678901234567",
                           "0.1000000000000000055511151231257827021181583404541015625",
                           "1.7976931348623157e308",
                           "1.7976931348623158e308",
                           "1.7976931348623159e308",
                           "1e309",
                           "-1e400",
                           "1e99999999999999999999",
                           "2.2250738585072014e-308",
                           "2.2250738585072011e-308",
                           "4.9e-324",
                           "2.4e-324",
                           "2.5e-324",
                           "1e-400",
                           "-1e-400",
                           "1e-99999999999999999999",
                           "0.5",
                           "0.25",
                           "99999999.99999999"})
    EXPECT_TRUE(as_strtod(text));
  EXPECT_TRUE(as_strtod("0." + std::string(400, '0') + "1"));
  EXPECT_TRUE(as_strtod("1" + std::string(400, '0') + ".0"));
  EXPECT_TRUE(as_strtod("0." + std::string(5000, '9')));
  EXPECT_TRUE(as_strtod(std::string(300, '9') + "." + std::string(300, '9') + "e-290"));
}

TEST(JsonNumber, Integers) {
  const struct {
    std::string text;
    bool fits;
    std::int64_t whole;
  } rows[] = {{"0", true, 0},
              {"-0", true, 0},
              {"-17", true, -17},
              {"123456789012345678", true, 123456789012345678},
              {"9223372036854775807", true, INT64_MAX},
              {"-9223372036854775808", true, INT64_MIN},
              {"9223372036854775808", false, 0},
              {"-9223372036854775809", false, 0},
              {"18446744073709551616", false, 0},
              {std::string(100, '9'), false, 0}};
  for (const auto& [text, fits, whole] : rows) {
    JsonNumber n;
    EXPECT_EQ(read_json_number(text.data(), text.data() + text.size(), n), text.data() + text.size());
    EXPECT_TRUE(n.integer) << text;
    EXPECT_EQ(n.fits, fits) << text;
    EXPECT_EQ(fits ? n.whole : 0, whole);
  }
}

// How many bytes of `text` are a number. It ends at memory that nobody may read.
std::size_t length(std::string_view text) {
  const GuardedBuffer<char> guarded{std::span<const char>(text)};
  JsonNumber n;
  const char* const first = guarded.cspan().data();
  return static_cast<std::size_t>(read_json_number(first, first + text.size(), n) - first);
}

TEST(JsonNumber, TheGrammarAndNothingBehindTheText) {
  for (const char* text :
       {"", "-", "+1", ".5", "-.5", "1.", "1.e5", "1.x", "1e", "1e+", "1.5e-", "x", "-x", "NaN", "e5"})
    EXPECT_EQ(length(text), 0U) << text;
  const struct {
    const char* text;
    std::size_t length;
  } rows[] = {{"01", 1},
              {"-012", 2},
              {"1.5x", 3},
              {"1.5.5", 3},
              {"1e5e5", 3},
              {"12,3", 2},
              {"1.25]", 4},
              {"7 8", 1},
              {"0x10", 1},
              {"1e5.5", 3},
              {"1-2", 1},
              {"1.5\xff", 3},
              {"1.1234567\xfa\xff", 9},
              {"1.1234567:9", 9},
              {"1.1234567/9", 9}};
  for (const auto& [text, want] : rows) EXPECT_EQ(length(text), want) << text;
  for (std::size_t n = 1; n <= 40; ++n) {
    EXPECT_EQ(length(std::string(n, '1')), n);
    EXPECT_EQ(length("0." + std::string(n, '1')), n + 2);
    EXPECT_EQ(length("0." + std::string(n, '1') + ",2"), n + 2);
  }
}

TEST(JsonNumber, ControlANeighbourIsNotTheSame) {
  JsonNumber n;
  const std::string text = "0.1";
  ASSERT_EQ(read_json_number(text.data(), text.data() + 3, n), text.data() + 3);
  EXPECT_EQ(bits(n.value), bits(0.1));
  EXPECT_NE(bits(n.value), bits(std::nextafter(0.1, 1)));
  EXPECT_FALSE(as_strtod("1.5x"));
  EXPECT_FALSE(as_strtod("17"));
}

}  // namespace
}  // namespace krt::detail
