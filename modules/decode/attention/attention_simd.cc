// The block step in vectors. Query rows are taken kRows at a time with four keys (scores) or a few vectors of a value
// row (weighted sums), so that what is loaded serves several products; a value of a score or a sum does not depend on
// which rows and keys it is computed beside.

#include "modules/decode/attention/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/decode/attention/attention_simd.cc"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"
#include "modules/decode/attention/cache_rows-inl.h"
#include "runtime/simd/exp-inl.h"
#include "runtime/simd/for_each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace krt::decode::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;

// 16 vector registers hold the sums of two rows and four keys, and their operands; 32 those of six rows.
constexpr std::size_t kRows = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 ? 2 : 6;
constexpr std::size_t kKeysAtOnce = 4;   // scores that come out of one vector
constexpr std::size_t kChunk = 4;        // vectors of a value row
constexpr std::size_t kGroup = 16;       // keys whose rows stay in the first-level cache for every query row
constexpr std::size_t kValueGroup = 32;  // the same of widened values, of which a chunk at a time is used
constexpr std::size_t kScoreStride = kKeyBlock + 16;  // stores of kKeysAtOnce may pass the end; no power of two
constexpr std::size_t kConvertRows = 8;  // from so many query rows on, half types are widened once for all of them
constexpr std::size_t kAhead = 2048;     // bytes of a stream that are fetched before they are used

constexpr float kNone = -std::numeric_limits<float>::infinity();

constexpr std::size_t padded(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// One row of the states: largest score, sum of weights, and from kHead on the weighted sum of values.
constexpr std::size_t kHead = 16;
constexpr std::size_t state_floats(std::size_t head_dim) { return kHead + (head_dim + 15) / 16 * 16; }
std::size_t state_bytes(std::size_t head_dim) { return state_floats(head_dim) * sizeof(float); }

// Of a tile: the queries, padded with zeros to whole vectors; the scores of a block; widened cache rows; the keys of
// the block that each row sees.
std::size_t scratch_bytes(std::size_t rows, std::size_t head_dim) {
  return (rows * (padded(head_dim) + kScoreStride) + kValueGroup * padded(head_dim)) * sizeof(float) +
         rows * sizeof(Range);
}

struct Step {
  const AttentionTile& tile;
  std::size_t b, width, begin, end;  // width: head_dim padded; begin, end: the keys that any row sees
  float *q, *scores, *widened, *states;
  Range* visible;  // of each row, counted from the block's first key

  Step(const AttentionTile& tile, std::size_t b, std::byte* scratch, std::byte* states)
      : tile(tile),
        b(b),
        width(padded(tile.head_dim)),
        begin(std::max(tile.keys(0, b).begin, b * kKeyBlock)),
        end(std::max(begin, tile.keys(tile.tokens - 1, b).end)),
        q(reinterpret_cast<float*>(scratch)),
        scores(q + tile.rows() * width),
        widened(scores + tile.rows() * kScoreStride),
        states(reinterpret_cast<float*>(states)),
        visible(reinterpret_cast<Range*>(widened + kValueGroup * width)) {
    for (std::size_t token = 0, row = 0; token < tile.tokens; ++token) {
      const Range keys = tile.keys(token, b);
      const std::size_t from = b * kKeyBlock;
      const Range seen = keys.begin < keys.end ? Range{keys.begin - from, keys.end - from} : Range{0, 0};
      for (std::size_t head = 0; head < tile.group; ++head) visible[row++] = seen;
    }
  }

  [[nodiscard]] const std::byte* widened_rows() const { return reinterpret_cast<const std::byte*>(widened); }
  [[nodiscard]] HWY_INLINE float* row_scores(std::size_t row) const { return scores + row * kScoreStride; }
  [[nodiscard]] HWY_INLINE float* state(std::size_t row) const { return states + row * state_floats(tile.head_dim); }
  [[nodiscard]] bool widens(CacheFormat format) const {
    if (tile.head_dim % kLanes != 0 || format == CacheFormat::kQ8_0) return true;
    return format != CacheFormat::kF32 && tile.rows() >= kConvertRows;
  }
};

// fn(count, row) for [0, rows) in steps of kCount, the rest in smaller ones; count is a std::integral_constant.
template <std::size_t kCount, class Fn>
HWY_INLINE void row_tiles(std::size_t row, std::size_t rows, const Fn& fn) {
  for (; row + kCount <= rows; row += kCount) fn(std::integral_constant<std::size_t, kCount>(), row);
  if constexpr (kCount > 1) row_tiles<kCount - 1>(row, rows, fn);
}

// Rows of a cache in memory, or widened, from one key on.
struct CacheRows {
  const std::byte* data;
  std::size_t stride;
  bool streams;  // from memory: to be fetched ahead
  [[nodiscard]] const std::byte* operator[](std::size_t i) const { return data + i * stride; }
};

// Asks for what a stream comes to kAhead bytes after these; past its end, where nothing faults, for nothing of use. In
// small portions between the products: 4 KiB at once take every line fill buffer, and the core waits for them (f16, one
// thread of a Sapphire Rapids: 63 % of the bandwidth against 81 %).
HWY_INLINE void fetch_ahead(const std::byte* at, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(at + kAhead + i, 0, 3);
}

// A value that several products use: without this g++ reads it from memory for each of them.
HWY_INLINE void keep_in_register([[maybe_unused]] V& v) {
#if HWY_ARCH_X86
  asm("" : "+v"(v.raw));
#endif
}

template <class Reader>
HWY_INLINE void widen(CacheRows rows, std::size_t count, std::size_t head_dim, std::size_t width, float* out) {
  for (std::size_t key = 0; key < count; ++key, out += width) {
    fetch_ahead(rows[key], rows.stride);
    if constexpr (Reader::kFormat == CacheFormat::kQ8_0) {
      Reader::widen(rows[key], width, out);
    } else {
      for_each(head_dim,
               [&](auto d, std::size_t i) HWY_ATTR { hn::StoreU(Reader::load(d, rows[key], i), d, out + i); });
      std::fill(out + head_dim, out + width, 0.0F);
    }
  }
}

// fn(reader, rows, key, count) for every few keys of the step; the rows are the cache's own, or widened to f32.
template <class Reader, class Fn>
HWY_INLINE void key_groups(const Step& s, const std::byte* head, std::size_t widened_group, const Fn& fn) {
  const std::size_t row_bytes = cache_row_bytes(Reader::kFormat, s.tile.head_dim);
  const bool widens = s.widens(Reader::kFormat);
  const std::size_t group = widens ? widened_group : kGroup;
  for (std::size_t key = s.begin; key < s.end; key += group) {
    const std::size_t count = std::min(group, s.end - key);
    const CacheRows rows{head + key * row_bytes, row_bytes, true};
    if (widens) {
      widen<Reader>(rows, count, s.tile.head_dim, s.width, s.widened);
      fn(ReadF32(), CacheRows{s.widened_rows(), s.width * sizeof(float), false}, key - s.b * kKeyBlock, count);
    } else if constexpr (Reader::kFormat != CacheFormat::kQ8_0) {
      fn(Reader(), rows, key - s.b * kKeyBlock, count);
    }
  }
}

template <class D>
HWY_INLINE hn::Vec<hn::CappedTag<float, 4>> add_blocks(D, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return add_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums of the lanes of four vectors.
HWY_INLINE hn::Vec<hn::CappedTag<float, 4>> sums_of_lanes(V a, V b, V c, V e) {
  const Tag d;
  const hn::Repartition<double, Tag> pairs;
  const V ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const V ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto low = hn::InterleaveLower(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, ce));
  const auto high = hn::InterleaveUpper(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, ce));
  return add_blocks(d, hn::Add(hn::BitCast(d, low), hn::BitCast(d, high)));
}

// Products of kCount query rows with `count` keys.
template <class Reader, std::size_t kCount>
HWY_INLINE void score_rows(const Step& s, std::size_t row, CacheRows keys, std::size_t key, std::size_t count) {
  const Tag d;
  const float* of_row[kCount];
  for (std::size_t r = 0; r < kCount; ++r) of_row[r] = s.q + (row + r) * s.width;
  for (std::size_t j = 0; j < count; j += kKeysAtOnce) {
    // Past the last key: that one again.
    const std::byte *k0 = keys[j], *k1 = keys[std::min(j + 1, count - 1)], *k2 = keys[std::min(j + 2, count - 1)],
                    *k3 = keys[std::min(j + 3, count - 1)];
    if (keys.streams && row == 0) fetch_ahead(k0, kKeysAtOnce * keys.stride);
    V sums[kCount][kKeysAtOnce];
    for (auto& some : sums)
      for (V& sum : some) sum = hn::Zero(d);
    for (std::size_t i = 0; i < s.width; i += kLanes) {
      V a = Reader::load(d, k0, i), b = Reader::load(d, k1, i), c = Reader::load(d, k2, i), e = Reader::load(d, k3, i);
      for (V* shared : {&a, &b, &c, &e}) keep_in_register(*shared);
      for (std::size_t r = 0; r < kCount; ++r) {
        const V of_q = hn::LoadU(d, of_row[r] + i);
        sums[r][0] = hn::MulAdd(of_q, a, sums[r][0]);
        sums[r][1] = hn::MulAdd(of_q, b, sums[r][1]);
        sums[r][2] = hn::MulAdd(of_q, c, sums[r][2]);
        sums[r][3] = hn::MulAdd(of_q, e, sums[r][3]);
      }
    }
    for (std::size_t r = 0; r < kCount; ++r)
      hn::StoreU(sums_of_lanes(sums[r][0], sums[r][1], sums[r][2], sums[r][3]), hn::CappedTag<float, 4>(),
                 s.row_scores(row + r) + key + j);
  }
}

template <class Reader>
HWY_INLINE void score_keys(const Step& s) {
  key_groups<Reader>(s, s.tile.k, kGroup,
                     [&](auto reader, CacheRows keys, std::size_t key, std::size_t count) HWY_ATTR {
                       using R = decltype(reader);
                       row_tiles<kRows>(0, s.tile.rows(), [&](auto rows, std::size_t row) HWY_ATTR {
                         score_rows<R, decltype(rows)::value>(s, row, keys, key, count);
                       });
                     });
}

// softcap * tanh(score / softcap), with tanh(|x|) = (1 - e^(-2 |x|)) / (1 + e^(-2 |x|)).
HWY_INLINE V capped(V score, float softcap) {
  const Tag d;
  const V x = hn::Div(score, hn::Set(d, softcap)), one = hn::Set(d, 1.0F);
  const V e = simd::HWY_NAMESPACE::ExpMinus(d, hn::Mul(hn::Abs(x), hn::Set(d, 2.0F)));
  return hn::Mul(hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x), hn::Set(d, softcap));
}

// From products to weights, in place; the largest score and the sum of weights go to the state. Vectors lie on the
// block's own grid: which lane adds a key up does not depend on what else a row sees.
HWY_INLINE void softmax_row(const Step& s, std::size_t row) {
  const Tag d;
  const Range seen = s.visible[row];
  float* const scores = s.row_scores(row);
  const std::size_t from = seen.begin / kLanes * kLanes, to = padded(seen.end);
  const V scale = hn::Set(d, static_cast<float>(s.tile.scale));
  const auto softcap = static_cast<float>(s.tile.softcap);
  for (std::size_t i = from; i < to; i += kLanes) {
    const V score = hn::Mul(hn::LoadU(d, scores + i), scale);
    hn::StoreU(softcap == 0 ? score : capped(score, softcap), d, scores + i);
  }
  std::fill(scores + from, scores + seen.begin, kNone);
  std::fill(scores + seen.end, scores + to, kNone);

  V largest = hn::Set(d, kNone);
  for (std::size_t i = from; i < to; i += kLanes) largest = hn::Max(largest, hn::LoadU(d, scores + i));
  const float max = hn::GetLane(hn::MaxOfLanes(d, largest));
  const V shift = hn::Set(d, max == kNone ? 0 : max);
  V sum = hn::Zero(d);
  for (std::size_t i = from; i < to; i += kLanes) {
    const V weight = simd::HWY_NAMESPACE::ExpMinus(d, hn::Sub(shift, hn::LoadU(d, scores + i)));
    hn::StoreU(weight, d, scores + i);
    sum = hn::Add(sum, weight);
  }
  s.state(row)[0] = max;
  s.state(row)[1] = hn::GetLane(hn::SumOfLanes(d, sum));
}

// The weighted sum of values of kCount rows goes on over keys [begin, end), in kVectors vectors from value i on.
template <class Reader, std::size_t kCount, std::size_t kVectors>
HWY_INLINE void weigh(const Step& s, std::size_t row, CacheRows values, std::size_t first, Range keys, std::size_t i) {
  const Tag d;
  float* const sums_of_row = s.state(row) + kHead + i;
  const std::size_t stride = state_floats(s.tile.head_dim);
  V sums[kCount][kVectors];
  for (std::size_t r = 0; r < kCount; ++r)
    for (std::size_t c = 0; c < kVectors; ++c) sums[r][c] = hn::LoadU(d, sums_of_row + r * stride + c * kLanes);
  const bool fetches = values.streams && row == 0;
  const float *weights = s.row_scores(row) + keys.begin, *const end = s.row_scores(row) + keys.end;
  const std::byte* at = values[keys.begin - first] + i * Reader::kBytes;
  for (; weights != end; ++weights, at += values.stride) {
    if (fetches) fetch_ahead(at, kVectors * kLanes * Reader::kBytes);
    V v[kVectors];
    for (std::size_t c = 0; c < kVectors; ++c) v[c] = Reader::load(d, at, c * kLanes), keep_in_register(v[c]);
    for (std::size_t r = 0; r < kCount; ++r) {
      const V weight = hn::Set(d, weights[r * kScoreStride]);
      for (std::size_t c = 0; c < kVectors; ++c) sums[r][c] = hn::MulAdd(weight, v[c], sums[r][c]);
    }
  }
  for (std::size_t r = 0; r < kCount; ++r)
    for (std::size_t c = 0; c < kVectors; ++c) hn::StoreU(sums[r][c], d, sums_of_row + r * stride + c * kLanes);
}

HWY_INLINE Range clipped(Range a, Range to) {
  const std::size_t begin = std::max(a.begin, to.begin);
  return {begin, std::max(begin, std::min(a.end, to.end))};
}

// The same where each row takes only the keys it sees: those that all see together, the others row by row. A later row
// sees later keys, so each row's come in order.
template <class Reader, std::size_t kCount, std::size_t kVectors>
HWY_INLINE void weigh_visible(const Step& s, std::size_t row, CacheRows values, Range group, std::size_t i) {
  const Range first = clipped(s.visible[row], group), last = clipped(s.visible[row + kCount - 1], group);
  if (first.begin == last.begin && first.end == last.end) {
    if (first.begin < first.end) weigh<Reader, kCount, kVectors>(s, row, values, group.begin, first, i);
    return;
  }
  const auto alone = [&](std::size_t r, Range keys) HWY_ATTR {
    if (keys.begin < keys.end) weigh<Reader, 1, kVectors>(s, r, values, group.begin, keys, i);
  };
  const Range common{last.begin, first.end};
  const bool together = common.begin < common.end;
  for (std::size_t r = row; r < row + kCount; ++r) {
    const Range seen = clipped(s.visible[r], group);
    alone(r, {seen.begin, together ? common.begin : seen.end});
  }
  if (!together) return;
  weigh<Reader, kCount, kVectors>(s, row, values, group.begin, common, i);
  for (std::size_t r = row; r < row + kCount; ++r) alone(r, {common.end, clipped(s.visible[r], group).end});
}

template <class Reader>
HWY_INLINE void weigh_values(const Step& s) {
  key_groups<Reader>(s, s.tile.v, kValueGroup,
                     [&](auto reader, CacheRows values, std::size_t key, std::size_t count) HWY_ATTR {
                       using R = decltype(reader);
                       const Range group{key, key + count};
                       std::size_t i = 0;
                       for (; i + kChunk * kLanes <= s.width; i += kChunk * kLanes)
                         row_tiles<kRows>(0, s.tile.rows(), [&](auto rows, std::size_t row) HWY_ATTR {
                           weigh_visible<R, decltype(rows)::value, kChunk>(s, row, values, group, i);
                         });
                       for (; i < s.width; i += kLanes)
                         row_tiles<kRows>(0, s.tile.rows(), [&](auto rows, std::size_t row) HWY_ATTR {
                           weigh_visible<R, decltype(rows)::value, 1>(s, row, values, group, i);
                         });
                     });
}

void begin(const AttentionTile& tile, std::byte* scratch) {
  const std::size_t width = padded(tile.head_dim);
  auto* q = reinterpret_cast<float*>(scratch);
  for (std::size_t row = 0; row < tile.rows(); ++row, q += width) {
    std::memcpy(q, tile.query(row), tile.head_dim * sizeof(float));
    std::fill(q + tile.head_dim, q + width, 0.0F);
  }
}

void clear(std::byte* states, std::size_t rows, std::size_t head_dim) {
  auto* state = reinterpret_cast<float*>(states);
  std::fill_n(state, rows * state_floats(head_dim), 0.0F);
  for (std::size_t row = 0; row < rows; ++row) state[row * state_floats(head_dim)] = kNone;
}

void block(const AttentionTile& tile, std::size_t b, std::byte* scratch, std::byte* states) {
  const Step s(tile, b, scratch, states);
  clear(states, tile.rows(), tile.head_dim);
  with_reader(tile.format, [&](auto reader) HWY_ATTR { score_keys<decltype(reader)>(s); });
  for (std::size_t row = 0; row < tile.rows(); ++row) softmax_row(s, row);
  with_reader(tile.format, [&](auto reader) HWY_ATTR { weigh_values<decltype(reader)>(s); });
}

HWY_INLINE float exp_minus(float x) {
  const hn::CappedTag<float, 1> one;
  return hn::GetLane(simd::HWY_NAMESPACE::ExpMinus(one, hn::Set(one, x)));
}

void fold(std::byte* into, const std::byte* from, std::size_t rows, std::size_t head_dim) {
  const Tag d;
  const std::size_t stride = state_floats(head_dim);
  auto* a = reinterpret_cast<float*>(into);
  const auto* b = reinterpret_cast<const float*>(from);
  for (std::size_t row = 0; row < rows; ++row, a += stride, b += stride) {
    if (b[1] == 0) continue;  // no key
    const float max = std::max(a[0], b[0]);
    const float old = exp_minus(max - a[0]), fresh = exp_minus(max - b[0]);
    a[0] = max;
    a[1] = a[1] * old + b[1] * fresh;
    for (std::size_t i = kHead; i < stride; i += kLanes) {
      const V added = hn::Mul(hn::LoadU(d, b + i), hn::Set(d, fresh));
      hn::StoreU(hn::MulAdd(hn::LoadU(d, a + i), hn::Set(d, old), added), d, a + i);
    }
  }
}

void finish(const std::byte* state, std::size_t head_dim, float* out) {
  const auto* s = reinterpret_cast<const float*>(state);
  for_each(head_dim, [&](auto d, std::size_t i) HWY_ATTR {
    const auto value = s[1] == 0 ? hn::Zero(d) : hn::Div(hn::LoadU(d, s + kHead + i), hn::Set(d, s[1]));
    hn::StoreU(value, d, out + i);
  });
}

const AttentionKernels& attention_form() {
  static constexpr AttentionKernels kKernels{state_bytes, scratch_bytes, begin, block, clear, fold, finish, store_row};
  return kKernels;
}

}  // namespace krt::decode::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace krt::decode {

const std::vector<Variant<AttentionForm>>& attention_variants() {
  static const auto list = simd_variants<AttentionForm>(KRT_SIMD_FORMS(attention_form), attention_reference);
  return list;
}

}  // namespace krt::decode
#endif  // HWY_ONCE
