#include <cmath>
#include <limits>
#include <memory>

#include "modules/decode/attention/kernels.h"
#include "modules/quant/floats.h"
#include "modules/quant/q8_0/q8_0.h"

namespace krt::decode {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

// One row of the states: the largest score, the sum of weights, the weighted sum of values.
struct State {
  double max, sum;
  double* out;
};
std::size_t state_bytes(std::size_t head_dim) { return ((head_dim + 2) * sizeof(double) + 63) / 64 * 64; }
State state_of(std::byte* states, std::size_t row, std::size_t head_dim) {
  auto* at = reinterpret_cast<double*>(states + row * state_bytes(head_dim));
  return {at[0], at[1], at + 2};
}
void keep(const State& s) {
  s.out[-2] = s.max;
  s.out[-1] = s.sum;
}

// One cached row, decoded.
std::size_t scratch_bytes(std::size_t /*rows*/, std::size_t head_dim) { return (head_dim + 32) * sizeof(float); }

template <class F>
void decode(const std::byte* row, std::size_t n, float* out) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(row);
  for (std::size_t i = 0; i < n; i += F::kInfo.values, bytes += F::kInfo.bytes) F::decode(bytes, out + i);
}

const float* load_row(CacheFormat format, const std::byte* head, std::size_t key, std::size_t n, std::byte* scratch) {
  auto* out = reinterpret_cast<float*>(scratch);
  const std::byte* row = head + key * cache_row_bytes(format, n);
  switch (format) {
    case CacheFormat::kF32: decode<quant::FormatF32>(row, n, out); break;
    case CacheFormat::kF16: decode<quant::FormatF16>(row, n, out); break;
    case CacheFormat::kBF16: decode<quant::FormatBF16>(row, n, out); break;
    case CacheFormat::kQ8_0: decode<quant::Q8_0>(row, n, out); break;
  }
  return out;
}

double capped(double score, double softcap) { return softcap == 0 ? score : softcap * std::tanh(score / softcap); }

// NaN where any score is NaN.
double maximum(std::span<const double> scores) {
  double max = kNone;
  for (const double s : scores) {
    if (std::isnan(s)) return s;
    max = std::max(max, s);
  }
  return max;
}

void attend_row(const AttentionTile& tile, std::size_t row, Range keys, std::byte* scratch, State s) {
  double scores[kKeyBlock];
  const float* q = tile.query(row);
  const std::size_t d = tile.head_dim, n = keys.end - keys.begin;
  for (std::size_t j = 0; j < n; ++j) {
    const float* k = load_row(tile.format, tile.k, keys.begin + j, d, scratch);
    double sum = 0;
    for (std::size_t c = 0; c < d; ++c) sum += double{q[c]} * double{k[c]};
    scores[j] = capped(sum * tile.scale, tile.softcap);
  }
  s.max = maximum({scores, n});
  s.sum = 0;
  std::fill_n(s.out, d, 0.0);
  for (std::size_t j = 0; j < n && s.max != kNone; ++j) {
    const float* v = load_row(tile.format, tile.v, keys.begin + j, d, scratch);
    const double p = std::exp(scores[j] - s.max);
    s.sum += p;
    for (std::size_t c = 0; c < d; ++c) s.out[c] += p * double{v[c]};
  }
  keep(s);
}

void begin(const AttentionTile& /*tile*/, std::byte* /*scratch*/) {}

void block(const AttentionTile& tile, std::size_t b, std::byte* scratch, std::byte* states) {
  for (std::size_t row = 0; row < tile.rows(); ++row)
    attend_row(tile, row, tile.keys(row / tile.group, b), scratch, state_of(states, row, tile.head_dim));
}

void clear(std::byte* states, std::size_t rows, std::size_t head_dim) {
  for (std::size_t row = 0; row < rows; ++row) {
    const State s = state_of(states, row, head_dim);
    std::fill_n(s.out, head_dim, 0.0);
    keep({kNone, 0, s.out});
  }
}

void fold(std::byte* into, const std::byte* from, std::size_t rows, std::size_t head_dim) {
  for (std::size_t row = 0; row < rows; ++row) {
    State a = state_of(into, row, head_dim);
    const State b = state_of(const_cast<std::byte*>(from), row, head_dim);
    if (b.sum == 0) continue;
    const double max = std::max(a.max, b.max);
    const double old = a.sum == 0 ? 0 : std::exp(a.max - max), fresh = std::exp(b.max - max);
    a.max = max;
    a.sum = a.sum * old + b.sum * fresh;
    for (std::size_t c = 0; c < head_dim; ++c) a.out[c] = a.out[c] * old + b.out[c] * fresh;
    keep(a);
  }
}

void finish(const std::byte* state, std::size_t head_dim, float* out) {
  const State s = state_of(const_cast<std::byte*>(state), 0, head_dim);
  for (std::size_t c = 0; c < head_dim; ++c) out[c] = s.sum == 0 ? 0 : static_cast<float>(s.out[c] / s.sum);
}

template <class T>
void store(std::byte* row, std::size_t i, T value) {
  std::memcpy(row + i * sizeof value, &value, sizeof value);
}

// One block of q8_0; n <= 32.
void store_q8_0(const float* x, std::size_t n, std::byte* block) {
  float largest = 0;
  bool finite = true;
  for (std::size_t i = 0; i < n; ++i) {
    finite = finite && std::isfinite(x[i]);
    largest = std::max(largest, std::fabs(x[i]));
  }
  const float scale = finite ? largest / 127 : std::numeric_limits<float>::quiet_NaN();
  const F16 stored = to_f16(scale);
  store(block, 0, stored);
  const float inverse = finite && to_f32(stored) != 0 ? 1 / scale : 0;
  for (std::size_t i = 0; i < 32; ++i) {
    const float value = i < n && inverse != 0 ? std::nearbyint(x[i] * inverse) : 0;
    store(block + 2, i, static_cast<std::int8_t>(value));
  }
}

void store_row(CacheFormat format, const float* x, std::size_t n, std::byte* row) {
  switch (format) {
    case CacheFormat::kF32: std::memcpy(row, x, n * sizeof *x); break;
    case CacheFormat::kF16:
      for (std::size_t i = 0; i < n; ++i) store(row, i, to_f16(x[i]));
      break;
    case CacheFormat::kBF16:
      for (std::size_t i = 0; i < n; ++i) store(row, i, to_bf16(x[i]));
      break;
    case CacheFormat::kQ8_0:
      for (std::size_t i = 0; i < n; i += 32) store_q8_0(x + i, std::min<std::size_t>(32, n - i), row + i / 32 * 34);
      break;
  }
}

}  // namespace

const AttentionKernels& attention_reference() {
  static constexpr AttentionKernels kKernels{state_bytes, scratch_bytes, begin, block, clear, fold, finish, store_row};
  return kKernels;
}

}  // namespace krt::decode
