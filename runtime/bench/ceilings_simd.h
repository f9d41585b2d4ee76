#pragma once
// The two loops behind the machine's ceilings, one form per instruction set.

#include <cstddef>
#include <cstdint>

namespace krt::bench {

// Reads every word of [words, words + n) and returns their sum, from four places at once: one stream alone does not
// keep a core's line-fill buffers busy. n is a multiple of 256.
using ReadWords = std::uint64_t(const std::uint64_t* words, std::size_t n);
ReadWords* read_words();

// `rounds` of kFmaChains independent multiply-adds on full vectors, and how many flops that was.
inline constexpr std::size_t kFmaChains = 12;  // 4 cycles of latency on two ports need 8; AVX2 has registers for 14
using MultiplyAdd = double(std::size_t rounds, float* sum);
MultiplyAdd* multiply_add();

}  // namespace krt::bench
