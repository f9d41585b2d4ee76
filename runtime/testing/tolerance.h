#pragma once
// Comparisons that can fail: every one is written so that a NaN on one side only is a mismatch, and each answers
// where it failed first.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

namespace krt::testing {

template <class T>
std::string at(std::size_t i, T got, T want) {
  std::string s = "at " + std::to_string(i) + ": got ";
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.17g, want %.17g", static_cast<double>(got), static_cast<double>(want));
  return s + buffer;
}

// |got - want| <= bound(i, want[i]) for every i; where want is not finite, got is the same class and sign.
template <class T, class W, class Bound>
::testing::AssertionResult all_within(std::span<const T> got, std::span<const W> want, const Bound& bound) {
  if (got.size() != want.size())
    return ::testing::AssertionFailure() << "got " << got.size() << " values, want " << want.size();
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto g = static_cast<double>(got[i]);
    const auto w = static_cast<double>(want[i]);
    const bool fine = std::isnan(w) ? std::isnan(g) : std::isinf(w) ? g == w : std::fabs(g - w) <= bound(i, w);
    if (!fine) return ::testing::AssertionFailure() << at(i, g, w) << ", bound " << bound(i, w);
  }
  return ::testing::AssertionSuccess();
}

// Relative to |want| with an absolute floor.
template <class T, class W>
::testing::AssertionResult all_close(std::span<const T> got, std::span<const W> want, double relative,
                                     double absolute = 0) {
  return all_within(got, want, [&](std::size_t, double w) { return relative * std::fabs(w) + absolute; });
}

// Equal to the last bit (NaNs of equal bits are equal, +0 and -0 are not).
template <class T>
::testing::AssertionResult same_bits(std::span<const T> got, std::span<const T> want) {
  if (got.size() != want.size())
    return ::testing::AssertionFailure() << "got " << got.size() << " values, want " << want.size();
  for (std::size_t i = 0; i < want.size(); ++i) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
    if (std::bit_cast<Bits>(got[i]) != std::bit_cast<Bits>(want[i]))
      return ::testing::AssertionFailure() << at(i, static_cast<double>(got[i]), static_cast<double>(want[i]));
  }
  return ::testing::AssertionSuccess();
}

// Distance in units in the last place; values of different sign (but for zeros) are far apart; NaN is farthest.
inline std::int64_t ulp_distance(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : INT64_MAX;
  const auto ordered = [](float x) {
    const auto bits = std::bit_cast<std::int32_t>(x);
    return bits < 0 ? std::int64_t{INT32_MIN} - bits : std::int64_t{bits};
  };
  const std::int64_t d = ordered(a) - ordered(b);
  return d < 0 ? -d : d;
}

}  // namespace krt::testing
