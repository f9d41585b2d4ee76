#pragma once
// How the K formats are encoded: 256 values in sub-blocks, each with an integer scale (and minimum) times the block's
// f16 d (and dmin).
//
// The squared error is minimised, every value counting the same: nothing is known of what the weights will be
// multiplied with. For a sub-block, a grid of spacings around the one that just reaches its extremes assigns levels;
// the least squares scale and minimum of given levels are exact, and the best of the grid are kept. Then these are
// rounded to integers, levels are assigned by what the block decodes to, integers one up and one down are tried, d and
// dmin are fitted to all 256 values by least squares, and the integers and levels are chosen once more.
//
// Cost: 17 times over the values without minima, 29 with them; loops are over whole arrays, so that the compiler can
// use vectors. Root mean square error beside llama.cpp's quantizer without
// an importance matrix: 0.84 to 1.0 of it (tests/oracle/quantize_compare.py).
//
// Source of the idea: alternating assignment and least squares (Lloyd 1982) over a grid of starts.

#include <array>

#include "modules/quant/encode.h"

namespace krt::quant {

inline constexpr int kKValues = 256;

// n is a multiple of 8.
inline float dot(const float* a, const float* b, int n) {
  float lanes[8] = {};
  for (int i = 0; i < n; i += 8)
    for (int l = 0; l < 8; ++l) lanes[l] += a[i + l] * b[i + l];
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// Sums of the least squares fit x = a u - b v.
struct LeastSquares {
  float uu, uv, vv, ux, vx;
  struct Factors {
    float a, b, gain;  // gain: how much of the sum of x^2 they take away
  };
  // b is at least 0: formats have no other.
  [[nodiscard]] Factors solve() const {
    const float det = uu * vv - uv * uv;
    const float a = (vv * ux - uv * vx) / det;
    const float b = (uv * ux - uu * vx) / det;
    if (det > 0 && b > 0) return {a, b, a * ux - b * vx};
    const float alone = ux * inverse(uu);
    return {alone, 0, alone * ux};
  }
};

struct KFormat {
  int sub_values;  // 16 or 32
  int zero, top;   // levels 0 to top; the value of level `zero` is 0 before the minimum is taken off
  int scale_low, scale_top;
  int minimum_top;  // 0: there are no minima, and scales have signs
};

// The block: value = (d * scale) * (level - zero) - dmin * minimum.
template <KFormat kFormat>
class KBlock {
 public:
  static constexpr int kSubs = kKValues / kFormat.sub_values;

  float d = 0, dmin = 0;  // f16 values
  std::array<int, kSubs> scale{}, minimum{};
  std::array<std::uint8_t, kKValues> level{};

  explicit KBlock(const float* x) : x_(x) {
    choose_integers();
    refine();
    refit();
    refine();
  }

 private:
  static constexpr bool kHasMinimum = kFormat.minimum_top > 0;
  static constexpr std::array<float, 32> kOnes = [] {
    std::array<float, 32> ones{};
    ones.fill(1);
    return ones;
  }();
  using Factors = LeastSquares::Factors;

  static int whole(float x, float unit, int low, int top) {
    return nearest_level(x * inverse(unit), -low, top - low) + low;
  }

  // The best factors of a grid: the extremes lie up to two levels inside or outside the outermost levels.
  static Factors fit_sub(const float* x) {
    constexpr int n = kFormat.sub_values;
    const float low = kHasMinimum ? std::min(0.0F, *std::min_element(x, x + kFormat.sub_values)) : 0;
    const float reach =
        kHasMinimum ? *std::max_element(x, x + kFormat.sub_values) - low : -extreme(x, kFormat.sub_values);
    const int levels = kHasMinimum ? kFormat.top : kFormat.zero;
    const float sum = dot(x, kOnes.data(), n);
    Factors best{0, -low, 0};
    for (int half_steps = -4; half_steps <= 4; ++half_steps) {
      const float spacing = (static_cast<float>(levels) + 0.5F * static_cast<float>(half_steps)) * inverse(reach);
      std::array<float, n> q;
      for (int i = 0; i < n; ++i)
        q[i] = static_cast<float>(nearest_level((x[i] - low) * spacing, kFormat.zero, kFormat.top) - kFormat.zero);
      const float uu = dot(q.data(), q.data(), n), ux = dot(q.data(), x, n);
      const Factors f = kHasMinimum ? LeastSquares{uu, dot(q.data(), kOnes.data(), n), n, ux, sum}.solve()
                                    : LeastSquares{uu, 0, 0, ux, 0}.solve();
      if (f.gain > best.gain) best = f;
    }
    return best;
  }

  void choose_integers() {
    std::array<float, kSubs> scales, minima;
    for (std::size_t s = 0; s < kSubs; ++s) {
      const Factors f = fit_sub(x_ + s * kFormat.sub_values);
      scales[s] = f.a;
      minima[s] = f.b;
    }
    d = as_f16(extreme(scales.data(), kSubs) / static_cast<float>(kHasMinimum ? kFormat.scale_top : kFormat.scale_low));
    if constexpr (kHasMinimum) dmin = as_f16(extreme(minima.data(), kSubs) / static_cast<float>(kFormat.minimum_top));
    for (std::size_t s = 0; s < kSubs; ++s) {
      scale[s] = whole(scales[s], d, kFormat.scale_low, kFormat.scale_top);
      minimum[s] = whole(minima[s], dmin, 0, kFormat.minimum_top);
    }
  }

  // The nearest levels for these integers, and their squared error.
  float assign(const float* x, int scale_of_sub, int minimum_of_sub, std::uint8_t* levels) const {
    const float step = d * static_cast<float>(scale_of_sub);
    const float below = dmin * static_cast<float>(minimum_of_sub);
    const float spacing = inverse(step);
    std::array<float, kFormat.sub_values> error;
    for (std::size_t i = 0; i < error.size(); ++i) {
      const int q = nearest_level((x[i] + below) * spacing, kFormat.zero, kFormat.top);
      levels[i] = static_cast<std::uint8_t>(q);
      error[i] = step * static_cast<float>(q - kFormat.zero) - below - x[i];
    }
    return dot(error.data(), error.data(), kFormat.sub_values);
  }

  // Integers one up and one down, and the levels.
  void refine() {
    for (std::size_t s = 0; s < kSubs; ++s) {
      const float* x = x_ + s * kFormat.sub_values;
      std::uint8_t* levels = level.data() + s * kFormat.sub_values;
      const int old_scale = scale[s], old_minimum = minimum[s];
      float least = assign(x, old_scale, old_minimum, levels);
      std::array<std::uint8_t, kFormat.sub_values> tried;
      for (int i = std::max(old_scale - 1, kFormat.scale_low); i <= std::min(old_scale + 1, kFormat.scale_top); ++i)
        for (int m = std::max(old_minimum - 1, 0); m <= std::min(old_minimum + 1, kFormat.minimum_top); ++m) {
          const float error = assign(x, i, m, tried.data());
          if (!(error < least)) continue;
          least = error;
          scale[s] = i;
          minimum[s] = m;
          std::copy(tried.begin(), tried.end(), levels);
        }
    }
  }

  // d and dmin of least error for these integers and levels.
  void refit() {
    std::array<float, kKValues> u, v;
    for (std::size_t i = 0; i < kKValues; ++i) {
      const std::size_t s = i / kFormat.sub_values;
      u[i] = static_cast<float>(scale[s] * (level[i] - kFormat.zero));
      v[i] = static_cast<float>(minimum[s]);
    }
    const auto product = [](const auto& a, const float* b) { return dot(a.data(), b, kKValues); };
    const Factors f =
        LeastSquares{product(u, u.data()), product(u, v.data()), product(v, v.data()), product(u, x_), product(v, x_)}
            .solve();
    if (f.a != 0) d = as_f16(f.a);
    if (f.b != 0) dmin = as_f16(f.b);
  }

  const float* x_;
};

// Adds `bits` to the byte: levels are packed into a block of zeros.
inline void put_bits(std::uint8_t& byte, int bits, std::size_t shift) {
  byte = static_cast<std::uint8_t>(byte | bits << shift);
}

}  // namespace krt::quant
