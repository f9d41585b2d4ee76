#include "modules/attnk/tiled/tiled.h"

#include <algorithm>
#include <cmath>

#include "modules/attnk/contract/args.h"
#include "modules/attnk/contract/contract.h"
#include "modules/attnk/sdpa/agreement.h"
#include "modules/attnk/sdpa/row.h"

namespace krt::attnk {
namespace {

struct Batch {
  std::int64_t batch, h_q, h_kv, s_q, s_kv, d;
  double scale;
  bool causal;

  [[nodiscard]] std::int64_t check(std::span<const double> q, std::span<const double> k, std::span<const double> v,
                                   std::initializer_list<std::int64_t> blocks) const {
    if (std::min(blocks) < 1) return kEmptyDimension;
    if (const std::int64_t status = attn_dims_check(batch, h_q, h_kv, s_q, s_kv, d); status != kOk) return status;
    if (!attn_scale_ok(scale)) return kScaleInvalid;
    if (product({batch, h_q, s_q, s_kv, d}) > kMaxWork) return kTooLarge;
    if (std::ssize(q) != product({batch, h_q, s_q, d})) return kQLengthMismatch;
    if (std::ssize(k) != product({batch, h_kv, s_kv, d})) return kKLengthMismatch;
    return v.size() != k.size() ? kVLengthMismatch : kOk;
  }
  [[nodiscard]] std::size_t heads() const { return static_cast<std::size_t>(batch * h_q); }
  [[nodiscard]] std::size_t queries() const { return static_cast<std::size_t>(s_q); }
  [[nodiscard]] std::size_t dim() const { return static_cast<std::size_t>(d); }
  // How many keys query i sees: always the first ones.
  [[nodiscard]] std::size_t visible(std::size_t i) const {
    const std::int64_t last = causal ? static_cast<std::int64_t>(i) + s_kv - s_q + 1 : s_kv;
    return static_cast<std::size_t>(std::clamp<std::int64_t>(last, 0, s_kv));
  }
  // The rows that head `head` of the batch (0 to batch * h_q - 1) attends to.
  [[nodiscard]] Rows key_rows(std::span<const double> k, std::size_t head) const {
    const auto kv_head = static_cast<std::int64_t>(head) / (h_q / h_kv);
    return {k.data() + kv_head * s_kv * d, dim()};
  }
};

// The largest magnitude seen by each worker, NaN once there is one.
struct Largest {
  double value = 0;
  void add(double x) {
    if (!(std::fabs(x) <= value) && !std::isnan(value)) value = std::fabs(x);
  }
  void add(std::span<const double> scores) {
    for (const double s : scores) add(s);
  }
};

using Softmax = void (*)(std::span<double> scores);

void stable_softmax(std::span<double> scores) { softmax_row(scores); }

void unstable_softmax(std::span<double> scores) {
  double sum = 0;
  for (double& s : scores) sum += s = std::exp(s);
  for (double& s : scores) s /= sum;
}

AttnResult refused(std::int64_t status) { return {{}, 0, 0, kNone, 0, 0, 0, 0, status}; }

// What a form adds to the shared result: its name, its memory a worker, and the computation of one unit of work.
template <class Unit>
AttnResult run(Context& context, const Batch& b, Backend backend, double worker_bytes, std::size_t units,
               std::int64_t workers, const Unit& unit) {
  const std::size_t parts = std::min(units, static_cast<std::size_t>(workers));
  std::vector<double> out(b.heads() * b.queries() * b.dim());
  std::vector<Largest> largest(parts);
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(units, parts, part);
    unit(r, out.data(), largest[part]);
  });
  Largest all;
  for (const Largest& l : largest) all.add(l.value);
  const double flops = attn_flop_count(b.batch, b.h_q, b.s_q, b.s_kv, b.d, b.causal);
  return {std::move(out),
          b.batch * b.h_q * b.s_q,
          b.d,
          backend,
          flops,
          worker_bytes * static_cast<double>(parts),
          static_cast<std::int64_t>(parts),
          all.value,
          kOk};
}

AttnResult direct(Context& context, std::span<const double> q, std::span<const double> k, std::span<const double> v,
                  const Batch& b, std::int64_t workers, Backend backend, Softmax softmax) {
  if (const std::int64_t status = b.check(q, k, v, {workers}); status != kOk) return refused(status);
  const std::int64_t n_workers = std::min(workers, b.batch * b.h_q);
  if (!attn_score_bytes_fit(b.s_q, b.s_kv, n_workers, 8 * kMaxCells)) return refused(kTooLarge);

  const auto keys = static_cast<std::size_t>(b.s_kv);
  const auto unit = [&](Range heads, double* out, Largest& largest) {
    std::vector<double> scores(b.queries() * keys);
    for (std::size_t head = heads.begin; head < heads.end; ++head)
      for (std::size_t i = 0; i < b.queries(); ++i) {
        context.checkpoint();
        const std::span<double> row(&scores[i * keys], b.visible(i));
        const std::size_t at = (head * b.queries() + i) * b.dim();
        score_row(&q[at], b.key_rows(k, head), b.dim(), b.scale, nullptr, row);
        largest.add(row);
        softmax(row);
        weigh_row(row, b.key_rows(v, head), b.dim(), out + at);
      }
  };
  return run(context, b, backend, attn_ws_bytes_direct(b.s_q, b.s_kv, b.d), b.heads(), n_workers, unit);
}

// `rows` queries of one head from query `first` on.
struct Tile {
  const Context& context;
  const Batch& b;
  std::size_t head, first, rows;
  std::span<const double> q, k, v;

  // Walks the tiles of keys; `scores` holds one row of a tile.
  void compute(std::span<double> scores, double* out, Largest& largest) const {
    const std::size_t at = (head * b.queries() + first) * b.dim();
    std::vector<OnlineRow> online;
    for (std::size_t i = 0; i < rows; ++i) online.emplace_back(out + at + i * b.dim(), b.dim());
    for (std::size_t key = 0; key < b.visible(first + rows - 1); key += scores.size()) {
      context.checkpoint();
      for (std::size_t i = 0; i < rows; ++i) {
        const std::size_t end = std::min(b.visible(first + i), key + scores.size());
        if (end <= key) continue;
        const std::span<double> now = scores.first(end - key);
        score_row(&q[at + i * b.dim()], b.key_rows(k, head).from(key), b.dim(), b.scale, nullptr, now);
        largest.add(now);
        online[i].add(now, b.key_rows(v, head).from(key));
      }
    }
    for (OnlineRow& row : online) row.finish();
  }
};

}  // namespace

AttnResult attn_forward_direct(Context& context, std::span<const double> q, std::span<const double> k,
                               std::span<const double> v, std::int64_t batch, std::int64_t h_q, std::int64_t h_kv,
                               std::int64_t s_q, std::int64_t s_kv, std::int64_t d, double scale, bool causal,
                               std::int64_t workers) {
  const Batch b{batch, h_q, h_kv, s_q, s_kv, d, scale, causal};
  return direct(context, q, k, v, b, workers, kDirect, stable_softmax);
}

AttnResult attn_forward_unstable(Context& context, std::span<const double> q, std::span<const double> k,
                                 std::span<const double> v, std::int64_t batch, std::int64_t h_q, std::int64_t h_kv,
                                 std::int64_t s_q, std::int64_t s_kv, std::int64_t d, double scale, bool causal,
                                 std::int64_t workers) {
  const Batch b{batch, h_q, h_kv, s_q, s_kv, d, scale, causal};
  return direct(context, q, k, v, b, workers, kUnstable, unstable_softmax);
}

AttnResult attn_forward_tiled(Context& context, std::span<const double> q, std::span<const double> k,
                              std::span<const double> v, std::int64_t batch, std::int64_t h_q, std::int64_t h_kv,
                              std::int64_t s_q, std::int64_t s_kv, std::int64_t d, double scale, bool causal,
                              std::int64_t br, std::int64_t bc, std::int64_t workers) {
  const Batch b{batch, h_q, h_kv, s_q, s_kv, d, scale, causal};
  if (const std::int64_t status = b.check(q, k, v, {br, bc, workers}); status != kOk) return refused(status);
  const auto tile_rows = static_cast<std::size_t>(std::min(br, s_q));
  const auto tile_keys = static_cast<std::size_t>(std::min(bc, s_kv));
  const std::size_t tiles = (b.queries() + tile_rows - 1) / tile_rows;  // of one head

  const auto unit = [&](Range range, double* out, Largest& largest) {
    std::vector<double> scores(tile_keys);
    for (std::size_t tile = range.begin; tile < range.end; ++tile) {
      const std::size_t head = tile / tiles, first = tile % tiles * tile_rows;
      const Tile t{context, b, head, first, std::min(tile_rows, b.queries() - first), q, k, v};
      t.compute(scores, out, largest);
    }
  };
  const auto columns = static_cast<std::int64_t>(tile_keys);
  const double bytes = attn_ws_bytes_tiled(static_cast<std::int64_t>(tile_rows), columns, d);
  return run(context, b, kTiled, bytes, b.heads() * tiles, workers, unit);
}

AttnDelta attn_reference_delta(Context& context, std::span<const double> q, std::span<const double> k,
                               std::span<const double> v, std::int64_t batch, std::int64_t h_q, std::int64_t h_kv,
                               std::int64_t s_q, std::int64_t s_kv, std::int64_t d, double scale, bool causal) {
  const std::int64_t workers = context.arena.threads();
  const AttnResult want = attn_forward_direct(context, q, k, v, batch, h_q, h_kv, s_q, s_kv, d, scale, causal, workers);
  if (want.status != kOk) return {0, 0, 0, false, 0, want.status};
  const AttnResult got =
      attn_forward_tiled(context, q, k, v, batch, h_q, h_kv, s_q, s_kv, d, scale, causal, 16, 32, workers);
  Agreement agreement;
  agreement.add(got.out, want.out, softmax_tolerance(static_cast<std::size_t>(s_kv)) * magnitude(v));
  double relative = 0;
  for (std::size_t i = 0; i < want.out.size(); ++i)
    if (want.out[i] != 0) relative = std::max(relative, std::fabs((got.out[i] - want.out[i]) / want.out[i]));
  return {agreement.max_delta, relative, agreement.tolerance_at_max, agreement.within, agreement.compared, kOk};
}

double attn_flop_count(std::int64_t batch, std::int64_t h_q, std::int64_t s_q, std::int64_t s_kv, std::int64_t d,
                       bool causal) {
  if (std::min({batch, h_q, s_q, s_kv, d}) < 1) return 0;
  // Rows see s_kv - s_q + 1, ..., s_kv keys; those below 1 see none.
  const auto last = static_cast<double>(s_kv), seeing = static_cast<double>(std::min(s_q, s_kv));
  const double pairs = causal ? seeing * (2 * last - seeing + 1) / 2 : static_cast<double>(s_q) * last;
  return 4 * static_cast<double>(batch) * static_cast<double>(h_q) * static_cast<double>(d) * pairs;
}

void register_tiled(Registry& registry) {
  ModuleBuilder m(registry, "attnk.tiled",
                  "Batched attention by three forms of the softmax, with their work and memory");
  constexpr Arg kQ{"q", "[batch][h_q][s_q][d]"};
  constexpr Arg kK{"k", "[batch][h_kv][s_kv][d]"};
  constexpr Arg kV{"v", "[batch][h_kv][s_kv][d]"};
  constexpr Arg kBatch{"batch", "sequences"};
  constexpr Arg kQueries{"s_q", "queries a sequence"};
  constexpr Arg kKeys{"s_kv", "keys a sequence"};
  constexpr Arg kCausal{"causal", "query i sees the keys up to i + s_kv - s_q"};
  constexpr Arg kWorkers{"workers", "into how many parts the work is dealt at most; changes no bits"};
  constexpr Arg kWhole[] = {kQ,       kK,    kV,         kBatch,       args::kHeadsQ, args::kHeadsKv,
                            kQueries, kKeys, args::kDim, args::kScale, kCausal,       kWorkers};
  m.function<attn_forward_direct>("attn_forward_direct", "Attention by whole score matrices", kWhole)
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[[1,0],[1,0,0,1],[1,2,3,4],1,1,1,1,2,2,0.7,true,1]");
  m.function<attn_forward_unstable>("attn_forward_unstable",
                                    "Attention without subtracting the maximum: overflows for large logits", kWhole)
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[[1,0],[1,0,0,1],[1,2,3,4],1,1,1,1,2,2,0.7,true,1]");
  m.function<attn_forward_tiled>("attn_forward_tiled", "Attention by tiles and an online softmax",
                                 {kQ,
                                  kK,
                                  kV,
                                  kBatch,
                                  args::kHeadsQ,
                                  args::kHeadsKv,
                                  kQueries,
                                  kKeys,
                                  args::kDim,
                                  args::kScale,
                                  kCausal,
                                  {"br", "queries a tile"},
                                  {"bc", "keys a tile"},
                                  kWorkers})
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[[1,0],[1,0,0,1],[1,2,3,4],1,1,1,1,2,2,0.7,true,1,1,1]");
  m.function<attn_reference_delta>(
       "attn_reference_delta", "How far the tiled form is from the direct one",
       {kQ, kK, kV, kBatch, args::kHeadsQ, args::kHeadsKv, kQueries, kKeys, args::kDim, args::kScale, kCausal})
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[[1,0],[1,0,0,1],[1,2,3,4],1,1,1,1,2,2,0.7,true]");
  m.function<attn_flop_count>("attn_flop_count", "Multiplies and adds of both products over the visible pairs",
                              {kBatch, args::kHeadsQ, kQueries, kKeys, args::kDim, kCausal})
      .example("[1,16,512,4096,128,true]");
}

}  // namespace krt::attnk
