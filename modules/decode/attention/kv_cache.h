#pragma once
// The keys and values of one layer of one sequence: two buffers [kv_head][capacity][row], each row one head's head_dim
// values at one position. The rows of a head lie side by side, so that attention over a context reads one stream.
//
// Formats   f32, f16, bf16; q8_0: ceil(head_dim / 32) GGUF blocks a row (modules/quant/q8_0), its last values 0 where
//           head_dim is no multiple of 32
// Writing   f16 and bf16 round to nearest even, beyond the range to infinity. A q8_0 block has the scale amax / 127,
//           rounded to f16, and the values rounded to nearest even of x / (amax / 127); a block whose scale rounds to 0
//           is 0, one with a NaN or an infinity is NaN. Every variant writes the same bits
// Reading   exact; q8_0: the product of scale and integer, rounded to f32 once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/exec/context.h"
#include "runtime/exec/huge_pages.h"

namespace krt::decode {

enum class CacheFormat : std::uint8_t { kF32, kF16, kBF16, kQ8_0 };
inline constexpr std::array kCacheFormats{CacheFormat::kF32, CacheFormat::kF16, CacheFormat::kBF16, CacheFormat::kQ8_0};
std::string_view name_of(CacheFormat format);  // "f32", "f16", "bf16", "q8_0"
std::optional<CacheFormat> cache_format_named(std::string_view name);

// Bytes of one row.
std::size_t cache_row_bytes(CacheFormat format, std::size_t head_dim);

// Borrows its buffers: k and v hold bytes() each, at any alignment, and do not overlap.
struct KvCache {
  CacheFormat format = CacheFormat::kF16;
  std::size_t kv_heads = 0, capacity = 0, head_dim = 0;
  std::byte *k = nullptr, *v = nullptr;

  [[nodiscard]] std::size_t row_bytes() const { return cache_row_bytes(format, head_dim); }
  [[nodiscard]] std::size_t head_bytes() const { return capacity * row_bytes(); }
  [[nodiscard]] std::size_t bytes() const { return kv_heads * head_bytes(); }
};

// A cache with memory of its own, zero until it is written.
class OwnedKvCache {
 public:
  OwnedKvCache(CacheFormat format, std::size_t kv_heads, std::size_t capacity, std::size_t head_dim);
  [[nodiscard]] const KvCache& view() const { return view_; }

 private:
  KvCache view_;
  HugePages memory_;
};

// Writes the rows of positions [pos, pos + n) from k and v, [n][kv_heads][head_dim] each; pos + n <= capacity.
void append(Context& context, const KvCache& cache, std::size_t pos, std::span<const float> k,
            std::span<const float> v);

}  // namespace krt::decode
