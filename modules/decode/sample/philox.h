#pragma once
// Philox4x32-10: the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
// 1, 2, 3" (SC11). A block of four words is a pure function of key and counter: nothing is kept between draws, and
// no draw depends on another.

#include <array>
#include <cstdint>

namespace krt::decode {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

constexpr PhiloxCounter philox4x32(PhiloxCounter c, PhiloxKey k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32U) ^ c[1] ^ k[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32U) ^ c[3] ^ k[1], static_cast<std::uint32_t>(a)};
    k[0] += 0x9E3779B9;  // golden ratio
    k[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return c;
}

// The uniform draw of one token: 53 bits, in [0, 1). Key: the seed. Counter: sequence (low words), position.
constexpr double uniform_draw(std::int64_t seed, std::int64_t sequence, std::int64_t position) {
  const auto low = [](std::int64_t v) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(v)); };
  const auto high = [](std::int64_t v) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(v) >> 32U); };
  const PhiloxCounter words =
      philox4x32({low(sequence), high(sequence), low(position), high(position)}, {low(seed), high(seed)});
  const std::uint64_t bits = (std::uint64_t{words[1]} << 32U) | words[0];
  return static_cast<double>(bits >> 11U) * 0x1p-53;
}

}  // namespace krt::decode
