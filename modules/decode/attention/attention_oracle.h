#pragma once
// What attention's tests and benchmarks compare with: the formula in f64 on what the cache holds, written without the
// kernel's blocks; and a cache with rows of random values in it.

#include <cmath>
#include <vector>

#include "modules/decode/attention/attention.h"
#include "modules/quant/formats/formats.h"
#include "runtime/testing/random.h"

namespace krt::decode::testing {

// One head's first n rows, as the format's own decoder reads them.
inline std::vector<double> cached_rows(const KvCache& cache, const std::byte* buffer, std::size_t head, std::size_t n) {
  constexpr std::string_view kDecoders[] = {"F32", "F16", "BF16", "Q8_0"};
  const auto* rows = reinterpret_cast<const std::uint8_t*>(buffer + head * cache.head_bytes());
  const std::vector<float> values =
      quant::decode(kDecoders[static_cast<std::size_t>(cache.format)], {rows, n * cache.row_bytes()}).values;
  const std::size_t stride = values.size() / n;
  std::vector<double> out;
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t c = 0; c < cache.head_dim; ++c) out.push_back(double{values[row * stride + c]});
  return out;
}

struct OracleRow {
  std::vector<double> out;
  double bound;  // what a form may be off by
};

// One query at position p over a head's keys and values.
inline OracleRow oracle_row(std::span<const float> q, std::span<const double> k, std::span<const double> v,
                            std::size_t p, const AttentionOptions& options) {
  const std::size_t d = q.size(), end = p + 1;
  const std::size_t begin = options.window == 0 || options.window >= end ? 0 : end - options.window;
  const double scale = options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(d));
  std::vector<double> scores;
  double largest = 0, max = -HUGE_VAL;  // of scale * sum |q k|; of the scores
  for (std::size_t j = begin; j < end; ++j) {
    double sum = 0, magnitude = 0;
    for (std::size_t c = 0; c < d; ++c) {
      const double product = double{q[c]} * k[j * d + c];
      sum += product;
      magnitude += std::fabs(product);
    }
    const double score = sum * scale;
    scores.push_back(options.softcap == 0 ? score : options.softcap * std::tanh(score / options.softcap));
    largest = std::max(largest, scale * magnitude);
    max = std::max(max, scores.back());
  }
  double weights = 0, largest_value = 0;
  std::vector<double> out(d);
  for (std::size_t j = begin; j < end; ++j) {
    const double weight = std::exp(scores[j - begin] - max);
    weights += weight;
    for (std::size_t c = 0; c < d; ++c) {
      out[c] += weight * v[j * d + c];
      largest_value = std::max(largest_value, std::fabs(v[j * d + c]));
    }
  }
  for (double& x : out) x /= weights;
  const double units =
      attention_bound(static_cast<double>(end - begin), static_cast<double>(d), largest, options.softcap);
  return {std::move(out), units * 0x1p-24 * largest_value};
}

// Every row and head of `query`, in the order of its output.
inline std::vector<OracleRow> oracle(const AttentionQuery& query, std::size_t q_heads,
                                     const AttentionOptions& options) {
  const KvCache& cache = query.cache;
  const std::size_t d = cache.head_dim, group = q_heads / cache.kv_heads, keys = query.pos + query.rows;
  std::vector<OracleRow> out(query.rows * q_heads);
  for (std::size_t kv_head = 0; kv_head < cache.kv_heads; ++kv_head) {
    const std::vector<double> k = cached_rows(cache, cache.k, kv_head, keys);
    const std::vector<double> v = cached_rows(cache, cache.v, kv_head, keys);
    for (std::size_t row = 0; row < query.rows; ++row)
      for (std::size_t at = row * q_heads + kv_head * group, end = at + group; at < end; ++at)
        out[at] = oracle_row({query.q + at * d, d}, k, v, query.pos + row, options);
  }
  return out;
}

// The largest |got - want| / bound; infinite where a value is NaN.
inline double share_of_bound(std::span<const OracleRow> want, std::span<const float> got) {
  double share = 0;
  const float* x = got.data();
  for (const OracleRow& row : want)
    for (const double w : row.out) {
      const double error = std::fabs(double{*x++} - w);
      share = std::isnan(error) ? HUGE_VAL : error == 0 ? share : std::max(share, error / row.bound);
    }
  return share;
}

// Random rows at every position below `filled`, written in one call by the plain form.
inline void fill(Context& context, const KvCache& cache, std::size_t filled, krt::testing::Rng& rng) {
  const std::size_t n = filled * cache.kv_heads * cache.head_dim;
  if (n != 0) append(context, cache, 0, rng.normals<float>(n), rng.normals<float>(n));
}

}  // namespace krt::decode::testing
