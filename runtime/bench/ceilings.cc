#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "runtime/bench/bench.h"
#include "runtime/bench/ceilings_simd.h"
#include "runtime/exec/arena.h"
#include "runtime/exec/huge_pages.h"

namespace krt::bench {
namespace {

constexpr int kPasses = 7;  // the best one counts: what disturbs a pass only makes it slower

template <class Fn>
double seconds(const Fn& fn) {
  const auto start = std::chrono::steady_clock::now();
  fn();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Large enough that no cache holds it (twice the last level, at least 512 MiB), within a quarter of the memory.
std::size_t words_to_read() {
  const auto last_level = static_cast<std::size_t>(std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE)));
  const auto memory =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = std::min(std::max(std::size_t{512} << 20U, 2 * last_level), memory / 4);
  return bytes / sizeof(std::uint64_t);
}

double measure_read(int threads) {
  const std::size_t parts = static_cast<std::size_t>(threads), words = words_to_read() / (256 * parts) * (256 * parts);
  const HugePages buffer(words * sizeof(std::uint64_t));  // with small pages the TLB is what is measured
  auto* const first = reinterpret_cast<std::uint64_t*>(buffer.data());
  ReadWords* const read = read_words();
  Arena arena(threads);
  const auto each = [&](const auto& body) {
    arena.parallel(parts, [&](std::size_t part) {
      const Range r = band(words, parts, part, 256);
      body(first + r.begin, r.end - r.begin);
    });
  };
  each([](std::uint64_t* from, std::size_t n) { std::fill_n(from, n, 1); });
  double best = 1e9;
  for (int pass = 0; pass < kPasses; ++pass)
    best = std::min(best, seconds([&] { each([&](std::uint64_t* from, std::size_t n) { keep(read(from, n)); }); }));
  return static_cast<double>(words * sizeof(std::uint64_t)) / best;
}

double measure_fp32(int threads) {
  constexpr std::size_t kRounds = 4'000'000;  // about 10 ms
  MultiplyAdd* const fma = multiply_add();
  Arena arena(threads);
  std::vector<double> flops(static_cast<std::size_t>(threads));
  double best = 1e9;
  for (int pass = 0; pass < kPasses; ++pass)
    best = std::min(best, seconds([&] {
                      arena.parallel(flops.size(), [&](std::size_t part) {
                        float sum = 0;
                        flops[part] = fma(kRounds, &sum);
                        keep(sum);
                      });
                    }));
  return flops.front() * threads / best;
}

// `measure(threads)`, once per process and count.
template <double (*measure)(int)>
double once(int threads) {
  static std::mutex mutex;
  static std::map<int, double> known;
  const std::lock_guard lock(mutex);
  const auto [entry, added] = known.emplace(std::max(1, threads), 0.0);
  if (added) entry->second = measure(entry->first);
  return entry->second;
}

}  // namespace

double read_bandwidth(int threads) { return once<measure_read>(threads); }
double fp32_rate(int threads) { return once<measure_fp32>(threads); }

}  // namespace krt::bench
