#pragma once
// What attention's tests and benchmarks compare with: the formula in f64 on what the cache holds, written without the
// kernel's blocks; and a cache with rows of random values in it.

#include <cmath>
#include <vector>

#include "modules/decode/attention/attention.h"
#include "modules/quant/formats/formats.h"
#include "runtime/testing/random.h"

namespace krt::decode::testing {

// Row `key` of one head's rows, as the format's own decoder reads it.
inline std::vector<double> cached_row(const KvCache& cache, const std::byte* buffer, std::size_t head,
                                      std::size_t key) {
  constexpr std::string_view kDecoders[] = {"F32", "F16", "BF16", "Q8_0"};
  const auto* row = reinterpret_cast<const std::uint8_t*>(buffer + head * cache.head_bytes() + key * cache.row_bytes());
  const auto values = quant::decode(kDecoders[static_cast<std::size_t>(cache.format)], {row, cache.row_bytes()}).values;
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(cache.head_dim)};
}

struct OracleRow {
  std::vector<double> out;
  double bound;  // what a form may be off by
};

// Query row `row` and head `head` of `query`.
inline OracleRow oracle_row(const AttentionQuery& query, std::size_t q_heads, const AttentionOptions& options,
                            std::size_t row, std::size_t head) {
  const KvCache& cache = query.cache;
  const std::size_t d = cache.head_dim, kv_head = head / (q_heads / cache.kv_heads), end = query.pos + row + 1;
  const std::size_t begin = options.window == 0 || options.window >= end ? 0 : end - options.window;
  const float* q = query.q + (row * q_heads + head) * d;
  const double scale = options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(d));
  std::vector<double> scores;
  double largest = 0, max = -HUGE_VAL;  // of scale * sum |q k|; of the scores
  for (std::size_t j = begin; j < end; ++j) {
    const std::vector<double> k = cached_row(cache, cache.k, kv_head, j);
    double sum = 0, magnitude = 0;
    for (std::size_t c = 0; c < d; ++c) {
      sum += double{q[c]} * k[c];
      magnitude += std::fabs(double{q[c]} * k[c]);
    }
    const double score = sum * scale;
    scores.push_back(options.softcap == 0 ? score : options.softcap * std::tanh(score / options.softcap));
    largest = std::max(largest, scale * magnitude);
    max = std::max(max, scores.back());
  }
  double weights = 0, largest_value = 0;
  std::vector<double> out(d);
  for (std::size_t j = begin; j < end; ++j) {
    const std::vector<double> v = cached_row(cache, cache.v, kv_head, j);
    const double p = std::exp(scores[j - begin] - max);
    weights += p;
    for (std::size_t c = 0; c < d; ++c) {
      out[c] += p * v[c];
      largest_value = std::max(largest_value, std::fabs(v[c]));
    }
  }
  for (double& x : out) x /= weights;
  const double units =
      attention_bound(static_cast<double>(end - begin), static_cast<double>(d), largest, options.softcap);
  return {std::move(out), units * 0x1p-24 * largest_value};
}

// Random rows at every position below `filled`, written in one call by the plain form.
inline void fill(Context& context, const KvCache& cache, std::size_t filled, krt::testing::Rng& rng) {
  const std::size_t n = filled * cache.kv_heads * cache.head_dim;
  if (n != 0) append(context, cache, 0, rng.normals<float>(n), rng.normals<float>(n));
}

}  // namespace krt::decode::testing
