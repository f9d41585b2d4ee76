#include "runtime/codec/json_number.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

namespace krt::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "eight_at reads text as a word");

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char* read_few_digits(const char* p, const char* last, std::uint64_t& value) {
  for (; p != last && is_digit(*p); ++p) value = value * 10 + static_cast<std::uint64_t>(*p - '0');
  return p;
}

// Eight bytes as one word, '0' to '9' as 0 to 9; the first is the lowest byte.
std::uint64_t eight_at(const char* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, 8);
  return word ^ 0x3030303030303030U;
}
// The top half of every byte that is no digit, and of some behind the first of those. 0: eight digits.
std::uint64_t no_digits(std::uint64_t eight) { return (eight | (eight + 0x0606060606060606U)) & 0xF0F0F0F0F0F0F0F0U; }
// The number that eight digits make: neighbours are joined to pairs, and those in two products.
std::uint64_t joined(std::uint64_t digits) {
  const std::uint64_t pairs = digits * 10 + (digits >> 8U);
  constexpr std::uint64_t kPair = 0x000000FF000000FFU;
  return ((pairs & kPair) * (100 + (std::uint64_t{1'000'000} << 32U)) +
          ((pairs >> 16U) & kPair) * (1 + (std::uint64_t{10'000} << 32U))) >>
         32U;
}

// Appends the digits at `p` to `value` (modulo 2^64). Where they end. How many there are is hard to predict, so there
// is no loop over the last seven.
const char* read_digits(const char* p, const char* last, std::uint64_t& value) {
  constexpr std::uint64_t kTens[] = {1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000};
  for (; last - p >= 8; p += 8) {
    const std::uint64_t eight = eight_at(p);
    if (const std::uint64_t others = no_digits(eight); others != 0) {
      const unsigned count = static_cast<unsigned>(std::countr_zero(others)) / 8;
      value = value * kTens[count] + joined(eight << (56 - 8 * count) << 8U);
      return p + count;
    }
    value = value * 100'000'000 + joined(eight);
  }
  return read_few_digits(p, last, value);
}

// What the grammar says of a number: its digits as an integer, and the power of ten that it is to be multiplied by.
struct Decimal {
  bool negative = false, integer = true;
  std::uint64_t digits = 0;  // modulo 2^64
  std::ptrdiff_t count = 0;  // of digits
  int exponent = 0;          // within 2 * kMaxExponent of 0
};
constexpr int kMaxExponent = 9999;

// Of "e-5", from the 'e' on. Where it ends; null where no digit follows.
const char* read_exponent(const char* p, const char* last, int& exponent) {
  ++p;
  const bool negative = p != last && *p == '-';
  if (p != last && (*p == '-' || *p == '+')) ++p;
  if (p == last || !is_digit(*p)) return nullptr;
  for (; p != last && is_digit(*p); ++p) exponent = std::min(exponent * 10 + (*p - '0'), kMaxExponent);
  if (negative) exponent = -exponent;
  return p;
}

// Where it ends; null where there is no number.
const char* scan(const char* p, const char* last, Decimal& d) {
  d.negative = p != last && *p == '-';
  if (d.negative) ++p;
  const char* const whole = p;
  p = p != last && *p == '0' ? p + 1 : read_few_digits(p, last, d.digits);
  if (p == whole) return nullptr;
  d.count = p - whole;
  if (p != last && *p == '.') {
    const char* const fraction = p + 1;
    p = read_digits(fraction, last, d.digits);
    if (p == fraction) return nullptr;
    d.count += p - fraction;
    d.exponent = -static_cast<int>(std::min<std::ptrdiff_t>(p - fraction, kMaxExponent));
    d.integer = false;
  }
  if (p != last && (*p == 'e' || *p == 'E')) {
    int exponent = 0;
    p = read_exponent(p, last, exponent);
    d.exponent += exponent;
    d.integer = false;
  }
  return p;
}

// 5^k fits 64 bits up to here.
constexpr int kMaxFives = 27;

struct Reciprocal {
  std::uint64_t bits;  // 2^(63 + width) / 5^k rounded down, its top bit set
  int width;           // of 5^k in bits
};
// [0] is not used.
constexpr auto kFives = [] {
  std::array<Reciprocal, kMaxFives + 1> out{};
  std::uint64_t power = 1;
  for (int k = 1; k <= kMaxFives; ++k) {
    power *= 5;
    const int width = static_cast<int>(std::bit_width(power));
    std::uint64_t quotient = 0,
                  rest = std::uint64_t{1} << (width - 1);  // long division, bit by bit; rest < power < 2^63
    for (int bit = 0; bit < 64; ++bit) {
      rest *= 2;
      quotient = quotient * 2 + (rest >= power ? 1 : 0);
      rest -= rest >= power ? power : 0;
    }
    out[static_cast<std::size_t>(k)] = {quotient, width};
  }
  return out;
}();

// digits / 10^k, rounded to nearest even; nothing where 64 bits of the quotient do not decide it. digits > 0, and k is
// 1 to kMaxFives.
//
// The normalised digits times the reciprocal of 5^k give 63 or 64 bits of the quotient. Both are rounded down, by less
// than one unit of the product each, so the quotient is below product + 2, or product + 4 once the product has its top
// bit at the top: only where the middle between two doubles lies in there is their rounding unknown.
std::optional<double> divided(std::uint64_t digits, int k) {
  const auto [reciprocal, width] = kFives[static_cast<std::size_t>(k)];
  const int zeros = std::countl_zero(digits);
  auto product = static_cast<std::uint64_t>(
      static_cast<unsigned __int128>(digits << static_cast<unsigned>(zeros)) * reciprocal >> 64U);
  const std::uint64_t short_of = 1 - (product >> 63U);
  product <<= short_of;
  constexpr std::uint64_t kDropped = 11, kHalf = std::uint64_t{1} << (kDropped - 1);  // of 64 bits, for 53
  const std::uint64_t low = product % (2 * kHalf);
  if (low <= kHalf && low + 4 > kHalf) return std::nullopt;
  const auto mantissa = static_cast<std::int64_t>((product >> kDropped) + (low > kHalf ? 1 : 0));
  const int exponent = static_cast<int>(kDropped - short_of) - (width - 1) - zeros - k;  // -142 to 9: no subnormals
  return static_cast<double>(mantissa) * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52U);
}

// Of the `count` digits of a number: how many are left without the zeros at its front.
std::ptrdiff_t significant(const char* first, std::ptrdiff_t count) {
  for (const char* p = first; count != 0 && (*p == '0' || *p == '.' || *p == '-'); ++p) count -= *p == '0' ? 1 : 0;
  return count;
}

std::optional<double> quickly(const Decimal& d, const char* first) {
  constexpr std::ptrdiff_t kFit = std::numeric_limits<std::uint64_t>::digits10;  // 19
  if (d.exponent > 0 || d.exponent < -kMaxFives) return std::nullopt;
  if (d.count > kFit && significant(first, d.count) > kFit) return std::nullopt;
  if (d.digits == 0 || d.exponent == 0) return static_cast<double>(d.digits);
  return divided(d.digits, -d.exponent);
}

// Of a number that is neither 0 nor in the range of a double: is it too large (else it is too small)?
bool is_too_large(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, e);
  std::int32_t exponent = 0;
  if (e != number.size()) {
    const char* const first = number.data() + e + (number[e + 1] == '+' ? 2 : 1);
    const auto parsed = std::from_chars(first, number.data() + number.size(), exponent);
    if (parsed.ec != std::errc()) return number[e + 1] != '-';
  }
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first_significant = static_cast<std::int64_t>(digits.find_first_of("123456789"));
  return exponent + point - first_significant > 0;
}

}  // namespace

const char* read_json_number(const char* const first, const char* const last, JsonNumber& out) {
  Decimal d;
  const char* const end = scan(first, last, d);
  if (end == nullptr) return first;
  out.integer = d.integer;
  if (d.integer) {
    out.fits = std::from_chars(first, end, out.whole).ec == std::errc();
  } else if (const std::optional<double> value = quickly(d, first)) {
    out.fits = true;
    out.value = d.negative ? -*value : *value;
  } else {
    const bool in_range = std::from_chars(first, end, out.value).ec == std::errc();
    out.fits = in_range || !is_too_large({first, end});
    if (!in_range) out.value = d.negative ? -0.0 : 0.0;
  }
  return end;
}

}  // namespace krt::detail
