#pragma once
// What one form of attention (attention_ref.cc; attention_simd.cc for each instruction set) computes, and what
// attention.cc splits over threads and folds. A tile is the query rows of one sequence that share a KV head; the state
// of a row is the largest score of the keys so far, the sum of exp(score - largest) and the weighted sum of the values.

#include <algorithm>

#include "modules/decode/attention/attention.h"
#include "runtime/dispatch/variant.h"

namespace krt::decode {

// Row t * group + g is query row t, head g of the group.
struct AttentionTile {
  CacheFormat format;
  const std::byte *k, *v;  // of the KV head
  std::size_t head_dim;
  std::size_t group, tokens;  // query heads of the KV head; query rows
  const float* q;             // of row 0
  std::size_t q_stride;       // floats from one query row to the next
  std::size_t pos;            // of the first query row
  std::size_t window;         // 0: none
  double scale, softcap;

  [[nodiscard]] std::size_t rows() const { return tokens * group; }
  [[nodiscard]] const float* query(std::size_t row) const {
    return q + row / group * q_stride + row % group * head_dim;
  }
  // The keys that query row `token` sees.
  [[nodiscard]] std::size_t first_key(std::size_t token) const {
    return window == 0 || pos + token < window ? 0 : pos + token + 1 - window;
  }
  [[nodiscard]] std::size_t end_key(std::size_t token) const { return pos + token + 1; }
  // Those of them in block b; empty where begin == end.
  [[nodiscard]] Range keys(std::size_t token, std::size_t b) const {
    const std::size_t end = std::min(end_key(token), (b + 1) * kKeyBlock);
    return {std::min(std::max(first_key(token), b * kKeyBlock), end), end};
  }
};

struct AttentionKernels {
  std::size_t (*state_bytes)(std::size_t head_dim);  // of one row; a multiple of 64
  std::size_t (*scratch_bytes)(std::size_t rows, std::size_t head_dim);
  // Before the blocks of a tile: what of it can be prepared once, in scratch.
  void (*begin)(const AttentionTile& tile, std::byte* scratch);
  // The states of all rows over the keys of one block.
  void (*block)(const AttentionTile& tile, std::size_t b, std::byte* scratch, std::byte* states);
  // into: the state of no key.
  void (*clear)(std::byte* states, std::size_t rows, std::size_t head_dim);
  // into: the state of its keys and the later ones of from.
  void (*fold)(std::byte* into, const std::byte* from, std::size_t rows, std::size_t head_dim);
  // The attention of one row.
  void (*finish)(const std::byte* state, std::size_t head_dim, float* out);
  // n values to a row of a cache.
  void (*store_row)(CacheFormat format, const float* x, std::size_t n, std::byte* row);
};

using AttentionForm = const AttentionKernels&();
AttentionForm attention_reference;  // in f64: the variant "scalar"
const std::vector<Variant<AttentionForm>>& attention_variants();

}  // namespace krt::decode
