#pragma once
// llmk.generate: the two things a decode loop needs besides its matrix products: a growing KV cache and the next token.
//
// kv_cache_append_flat   out = cache ++ new_vals, in new memory: O(cache_len + n_new) by design. For callers who append
//                        once. A loop that appends every step reserves once and appends in place instead (below).
//   Shapes   cache: f64[cache_len] (0 is an empty cache), new_vals: f64[n_new] with n_new >= 1; exact; each <= 2^24
//   Status   560; else 561, 564, 566 (len(cache)), 567 (len(new_vals)) with out empty and n 0
//
// greedy_argmax_flat     the first id whose logit is the row's maximum; the first NaN wins over everything (numpy's
// rule)
//   Shapes   logits: f64[n], exactly n values, 1 <= n <= 2^24
//   Status   560; else 561, 564, 568 with token_id -1 and logit 0
//
// Bits     values are copied and compared, never computed

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "modules/llmk/contract/contract.h"

namespace krt::llmk {

struct KvAppendResult {
  std::vector<double> out;
  std::int64_t n;
  std::int64_t status;
  static constexpr std::array kFields{"out", "n", "status"};
};
KvAppendResult kv_cache_append_flat(std::span<const double> cache, std::span<const double> new_vals,
                                    std::int64_t cache_len, std::int64_t n_new);

struct GreedyResult {
  std::int64_t token_id;
  double logit;
  std::int64_t status;
  static constexpr std::array kFields{"token_id", "logit", "status"};
};
GreedyResult greedy_argmax_flat(std::span<const double> logits, std::int64_t n);

// Internal (registered with a leading underscore: neither listed nor executable by name).

// max_elements zeros, once per layer; empty where max_elements is not in [1, 2 * kMaxDim], the most that appends fill.
std::vector<double> kv_cache_reserve_flat(std::int64_t max_elements);

// Writes new_vals to cache[cache_len .. cache_len + n_new): O(n_new), no allocation. `cache` is the whole reserved
// buffer. 560; else 561, 564, 567, or 571 where the reserved buffer ends first, and nothing is written.
std::int64_t kv_cache_append_into_flat(std::span<double> cache, std::span<const double> new_vals,
                                       std::int64_t cache_len, std::int64_t n_new);

// The bodies of the two appends, for any element, so that a test can count what they copy.
namespace detail {

template <class T>
std::vector<T> appended(std::span<const T> cache, std::span<const T> new_vals) {
  std::vector<T> out;
  out.reserve(cache.size() + new_vals.size());
  out.insert(out.end(), cache.begin(), cache.end());
  out.insert(out.end(), new_vals.begin(), new_vals.end());
  return out;
}

template <class T>
std::int64_t append_into(std::span<T> cache, std::span<const T> new_vals, std::int64_t cache_len, std::int64_t n_new) {
  // The cache's claimed length is not its real one, which is the capacity.
  const std::int64_t status = llmk_kv_append_dims_check(cache_len, cache_len, n_new, std::ssize(new_vals));
  if (status != kOk) return status;
  if (cache_len + n_new > std::ssize(cache)) return kCacheCapacityExceeded;
  std::copy(new_vals.begin(), new_vals.end(), cache.begin() + cache_len);
  return kOk;
}

}  // namespace detail
}  // namespace krt::llmk
