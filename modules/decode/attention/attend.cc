// attention_rows: how a call is split. An item is a tile of query rows that share a KV head; a unit is one block of
// keys of an item. Where there are items enough for the threads, each folds its own units; else the units are computed
// wherever there is a thread, and folded afterwards. Both fold the same states in the same order.

#include <cmath>
#include <memory>
#include <utility>

#include "modules/decode/attention/kernels.h"
#include "modules/decode/contract/rows.h"

namespace krt::decode {
namespace {

// Rows of a tile: enough that a key is loaded once for many queries, few enough that their scores stay in a cache.
constexpr std::size_t kTileRows = 64;
// States of units kept apart at most, and the items a thread should have where they are not.
constexpr std::size_t kMaxSplitBytes = std::size_t{16} << 20U, kItemsPerThread = 8;

constexpr std::size_t kLine = 64;  // of a cache
constexpr std::size_t whole_lines(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

using Item = AttentionWorkspace::Item;

std::size_t first_block(const AttentionTile& tile) { return tile.first_key(0) / kKeyBlock; }
std::size_t end_block(const AttentionTile& tile) { return (tile.end_key(tile.tokens - 1) + kKeyBlock - 1) / kKeyBlock; }

class Call {
 public:
  Call(Context& context, std::span<const AttentionQuery> queries, std::size_t q_heads, const AttentionOptions& options,
       const AttentionKernels& kernels, AttentionWorkspace& workspace)
      : arena_(context.arena),
        queries_(queries),
        q_heads_(q_heads),
        options_(options),
        kernels_(kernels),
        workspace_(workspace),
        items_(workspace.items) {
    items_.clear();
    for (std::size_t i = 0; i < queries.size(); ++i) add_items(i);
  }

  void run() {
    const auto threads = static_cast<std::size_t>(arena_.threads());
    const std::size_t parts = values_ < kParallelMinValues ? 1 : threads;
    const bool split = parts > 1 && items_.size() < kItemsPerThread * parts && units_ > items_.size() &&
                       units_ * states_bytes_ <= kMaxSplitBytes;
    split ? run_units(std::min(parts, units_)) : run_items(std::min(parts, items_.size()));
  }

 private:
  void add_items(std::size_t i) {
    const AttentionQuery& query = queries_[i];
    const std::size_t group = q_heads_ / query.cache.kv_heads, tokens = std::max<std::size_t>(1, kTileRows / group);
    for (std::size_t head = 0; head < query.cache.kv_heads; ++head)
      for (std::size_t row = 0; row < query.rows; row += tokens) {
        Item item{i, head, row, std::min(tokens, query.rows - row), 0, 0, units_};
        const AttentionTile tile = tile_of(item);
        item.first_block = first_block(tile);
        item.blocks = end_block(tile) - item.first_block;
        units_ += item.blocks;
        values_ += item.blocks * kKeyBlock * tile.head_dim;
        states_bytes_ = std::max(states_bytes_, tile.rows() * kernels_.state_bytes(tile.head_dim));
        scratch_bytes_ = std::max(scratch_bytes_, whole_lines(kernels_.scratch_bytes(tile.rows(), tile.head_dim)));
        items_.push_back(item);
      }
  }

  [[nodiscard]] AttentionTile tile_of(const Item& item) const {
    const AttentionQuery& query = queries_[item.query];
    const KvCache& cache = query.cache;
    const std::size_t group = q_heads_ / cache.kv_heads, stride = q_heads_ * cache.head_dim;
    const double scale = options_.scale != 0 ? options_.scale : 1 / std::sqrt(static_cast<double>(cache.head_dim));
    return {cache.format,
            cache.k + item.kv_head * cache.head_bytes(),
            cache.v + item.kv_head * cache.head_bytes(),
            cache.head_dim,
            group,
            item.rows,
            query.q + item.first_row * stride + item.kv_head * group * cache.head_dim,
            stride,
            query.pos + item.first_row,
            options_.window,
            scale,
            options_.softcap};
  }

  void finish(const Item& item, const AttentionTile& tile, const std::byte* states) const {
    float* const out = queries_[item.query].out + (tile.q - queries_[item.query].q);
    for (std::size_t row = 0; row < tile.rows(); ++row)
      kernels_.finish(states + row * kernels_.state_bytes(tile.head_dim), tile.head_dim,
                      out + (tile.query(row) - tile.q));
  }

  // Each part takes every parts-th item, so that the longer ones at the end of a prefill are shared out.
  void run_items(std::size_t parts) {
    const std::size_t bytes = scratch_bytes_ + 2 * states_bytes_;
    std::byte* const memory = workspace_.reserve(parts * bytes);
    arena_.parallel(parts, [&](std::size_t part) {
      std::byte* const scratch = memory + part * bytes;
      std::byte* const sum = scratch + scratch_bytes_;
      std::byte* const states = sum + states_bytes_;
      for (std::size_t i = part; i < items_.size(); i += parts) {
        const AttentionTile tile = tile_of(items_[i]);
        kernels_.begin(tile, scratch);
        kernels_.clear(sum, tile.rows(), tile.head_dim);
        for (std::size_t b = 0; b < items_[i].blocks; ++b) {
          kernels_.block(tile, items_[i].first_block + b, scratch, states);
          kernels_.fold(sum, states, tile.rows(), tile.head_dim);
        }
        finish(items_[i], tile, sum);
      }
    });
  }

  void run_units(std::size_t parts) {
    std::byte* const memory = workspace_.reserve(parts * scratch_bytes_ + (units_ + parts) * states_bytes_);
    std::byte* const states = memory + parts * scratch_bytes_;
    arena_.parallel(parts, [&](std::size_t part) {
      std::byte* const scratch = memory + part * scratch_bytes_;
      const Range units = band(units_, parts, part);
      for (const Item& item : items_) {
        const std::size_t begin = std::max(units.begin, item.first_unit);
        const std::size_t end = std::min(units.end, item.first_unit + item.blocks);
        if (begin >= end) continue;
        const AttentionTile tile = tile_of(item);
        kernels_.begin(tile, scratch);
        for (std::size_t u = begin; u < end; ++u)
          kernels_.block(tile, item.first_block + u - item.first_unit, scratch, states + u * states_bytes_);
      }
    });
    arena_.parallel(parts, [&](std::size_t part) {
      std::byte* const sum = states + (units_ + part) * states_bytes_;
      const Range items = band(items_.size(), parts, part);
      for (std::size_t i = items.begin; i < items.end; ++i) {
        const AttentionTile tile = tile_of(items_[i]);
        kernels_.clear(sum, tile.rows(), tile.head_dim);
        for (std::size_t b = 0; b < items_[i].blocks; ++b)
          kernels_.fold(sum, states + (items_[i].first_unit + b) * states_bytes_, tile.rows(), tile.head_dim);
        finish(items_[i], tile, sum);
      }
    });
  }

  Arena& arena_;
  std::span<const AttentionQuery> queries_;
  std::size_t q_heads_;
  const AttentionOptions& options_;
  const AttentionKernels& kernels_;
  AttentionWorkspace& workspace_;
  std::vector<Item>& items_;
  std::size_t units_ = 0, values_ = 0;                // blocks of all items; values of keys that they read
  std::size_t states_bytes_ = 0, scratch_bytes_ = 0;  // of the largest item
};

}  // namespace

std::byte* AttentionWorkspace::reserve(std::size_t bytes) {
  if (memory_.size() < bytes + kLine) memory_ = std::vector<std::byte>(bytes + kLine);
  void* at = memory_.data();
  std::size_t room = memory_.size();
  return static_cast<std::byte*>(std::align(kLine, bytes, at, room));
}

void attention_rows(Context& context, std::span<const AttentionQuery> queries, std::size_t q_heads,
                    const AttentionOptions& options, AttentionWorkspace& workspace) {
  std::size_t rows = 0;
  for (const AttentionQuery& query : queries) rows += query.rows;
  if (rows == 0) return;
  const auto& variant = pick(context, attention_variants(),
                             {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(q_heads),
                              static_cast<std::int64_t>(queries.front().cache.head_dim)});
  Call(context, queries, q_heads, options, variant.run(), workspace).run();
}

}  // namespace krt::decode
