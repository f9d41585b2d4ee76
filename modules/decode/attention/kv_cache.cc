#include "modules/decode/attention/kv_cache.h"

#include "modules/decode/attention/kernels.h"
#include "modules/decode/contract/rows.h"
#include "modules/quant/q8_0/q8_0.h"

namespace krt::decode {
namespace {

constexpr std::array<std::string_view, kCacheFormats.size()> kNames{"f32", "f16", "bf16", "q8_0"};

}  // namespace

std::string_view name_of(CacheFormat format) { return kNames[static_cast<std::size_t>(format)]; }

std::optional<CacheFormat> cache_format_named(std::string_view name) {
  for (const CacheFormat format : kCacheFormats)
    if (name_of(format) == name) return format;
  return std::nullopt;
}

std::size_t cache_row_bytes(CacheFormat format, std::size_t head_dim) {
  constexpr auto kBlock = quant::Q8_0::kInfo;
  constexpr auto kValues = static_cast<std::size_t>(kBlock.values);
  switch (format) {
    case CacheFormat::kF32: return head_dim * sizeof(float);
    case CacheFormat::kF16:
    case CacheFormat::kBF16: return head_dim * sizeof(F16);
    case CacheFormat::kQ8_0: return (head_dim + kValues - 1) / kValues * static_cast<std::size_t>(kBlock.bytes);
  }
  return 0;
}

OwnedKvCache::OwnedKvCache(CacheFormat format, std::size_t kv_heads, std::size_t capacity, std::size_t head_dim)
    : view_{format, kv_heads, capacity, head_dim}, memory_(2 * view_.bytes()) {
  view_.k = memory_.data();
  view_.v = memory_.data() + view_.bytes();
}

void append(Context& context, const KvCache& cache, std::size_t pos, std::span<const float> k,
            std::span<const float> v) {
  const AttentionKernels& kernels = pick(context, attention_variants()).run();
  const std::size_t d = cache.head_dim, row_bytes = cache.row_bytes();
  for_rows(context.arena, k.size() / d, d, [&](std::size_t row) {
    const std::size_t at = (row % cache.kv_heads * cache.capacity + pos + row / cache.kv_heads) * row_bytes;
    kernels.store_row(cache.format, &k[row * d], d, cache.k + at);
    kernels.store_row(cache.format, &v[row * d], d, cache.v + at);
  });
}

}  // namespace krt::decode
