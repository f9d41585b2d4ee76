#pragma once
// Seeded random data for tests and benchmarks. The seed is fixed where it is written; failures print it by
// SCOPED_TRACE(rng.trace()).

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace krt::testing {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : seed_(seed), engine_(seed) {}
  [[nodiscard]] std::string trace() const { return "seed " + std::to_string(seed_); }

  double uniform(double low = 0, double high = 1) {
    // Not std::uniform_real_distribution, whose values differ between standard libraries.
    return low + (high - low) * static_cast<double>(engine_() >> 11U) * 0x1p-53;
  }
  // In [low, high].
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % (static_cast<std::uint64_t>(high - low) + 1));
  }
  double normal() {
    double sum = -6;  // Irwin-Hall: near enough to a normal for test data, and the same everywhere
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }
  template <class T>
  std::vector<T> normals(std::size_t n, double scale = 1) {
    std::vector<T> out(n);
    for (T& x : out) x = static_cast<T>(normal() * scale);
    return out;
  }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

}  // namespace krt::testing
