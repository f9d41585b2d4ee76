#include "modules/attnk/sdpa/sdpa.h"

#include "modules/attnk/contract/args.h"
#include "modules/attnk/contract/contract.h"

namespace krt::attnk {
namespace {

constexpr std::int64_t kParallelMinWork = std::int64_t{1} << 15;

SdpaScores refused(std::int64_t status) { return {{}, 0, 0, 0, status}; }

}  // namespace

std::int64_t Problem::check(std::span<const double> q, std::span<const double> k) const {
  if (const std::int64_t status = attn_dims_check(1, h_q, h_kv, n_tok_q, n_tok_k, d); status != kOk) return status;
  if (!attn_scale_ok(scale)) return kScaleInvalid;
  if (product({n_tok_q, n_tok_k, h_q, d}) > kMaxWork) return kTooLarge;
  if (std::ssize(q) != product({n_tok_q, h_q, d})) return kQLengthMismatch;
  return std::ssize(k) != product({n_tok_k, h_kv, d}) ? kKLengthMismatch : kOk;
}

std::int64_t Problem::check(std::span<const double> q, std::span<const double> k, std::span<const double> v) const {
  if (const std::int64_t status = check(q, k); status != kOk) return status;
  return v.size() != k.size() ? kVLengthMismatch : kOk;
}

std::size_t Problem::parts(const Arena& arena) const {
  const bool small = product({n_tok_q, n_tok_k, h_q, d}) < kParallelMinWork;
  return small ? 1 : static_cast<std::size_t>(arena.threads());
}

SdpaOut sdpa_forward_flat(Context& context, std::span<const double> q, std::span<const double> k,
                          std::span<const double> v, std::span<const double> bias, std::int64_t n_tok_q,
                          std::int64_t n_tok_k, std::int64_t h_q, std::int64_t h_kv, std::int64_t d, double scale,
                          bool use_bias) {
  const Problem p{n_tok_q, n_tok_k, h_q, h_kv, d, scale};
  std::int64_t status = p.check(q, k, v);
  if (status == kOk && use_bias && std::ssize(bias) != n_tok_q * n_tok_k) status = kBiasLengthMismatch;
  if (status != kOk) return {{}, {}, 0, 0, 0, status};

  std::vector<double> out(q.size()), lse(p.queries() * p.heads());
  const std::size_t parts = p.parts(context.arena);
  context.arena.parallel(parts, [&](std::size_t part) {
    std::vector<double> scores(p.keys());
    const Range r = band(lse.size(), parts, part);
    for (std::size_t row = r.begin; row < r.end; ++row) {
      context.checkpoint();
      const std::size_t token = row / p.heads(), kv_head = row % p.heads() / p.group();
      const double* row_bias = use_bias ? &bias[token * p.keys()] : nullptr;
      score_row(&q[row * p.dim()], p.key_rows(k, kv_head), p.dim(), scale, row_bias, scores);
      lse[row] = softmax_row(scores);
      weigh_row(scores, p.key_rows(v, kv_head), p.dim(), &out[row * p.dim()]);
    }
  });
  return {std::move(out), std::move(lse), n_tok_q, h_q, d, kOk};
}

SdpaScores sdpa_scores_flat(Context& context, std::span<const double> q, std::span<const double> k,
                            std::int64_t n_tok_q, std::int64_t n_tok_k, std::int64_t h_q, std::int64_t h_kv,
                            std::int64_t d, double scale) {
  const Problem p{n_tok_q, n_tok_k, h_q, h_kv, d, scale};
  if (const std::int64_t status = p.check(q, k); status != kOk) return refused(status);
  if (product({h_q, n_tok_q, n_tok_k}) > kMaxCells) return refused(kTooLarge);

  std::vector<double> values(p.heads() * p.queries() * p.keys());
  const std::size_t parts = p.parts(context.arena);
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(p.heads() * p.queries(), parts, part);
    for (std::size_t row = r.begin; row < r.end; ++row) {
      context.checkpoint();
      const std::size_t head = row / p.queries(), token = row % p.queries();
      score_row(p.query_rows(q, head)[token], p.key_rows(k, head / p.group()), p.dim(), scale, nullptr,
                std::span(values).subspan(row * p.keys(), p.keys()));
    }
  });
  return {std::move(values), h_q, n_tok_q, n_tok_k, kOk};
}

SdpaScores sdpa_softmax_rows_flat(Context& context, std::span<const double> scores, std::int64_t rows,
                                  std::int64_t cols) {
  if (const std::int64_t status = attn_dims_check(1, 1, 1, rows, cols, 1); status != kOk) return refused(status);
  if (std::ssize(scores) != product({rows, cols})) return refused(kListLengthMismatch);

  std::vector<double> values(scores.begin(), scores.end());
  const auto count = static_cast<std::size_t>(rows), width = static_cast<std::size_t>(cols);
  const Problem p{rows, cols, 1, 1, 1, 1};
  const std::size_t parts = p.parts(context.arena);
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(count, parts, part);
    for (std::size_t row = r.begin; row < r.end; ++row) softmax_row(std::span(values).subspan(row * width, width));
  });
  return {std::move(values), 1, rows, cols, kOk};
}

void register_sdpa(Registry& registry) {
  ModuleBuilder m(registry, "attnk.sdpa", "Scaled dot product attention in f64, with its scores and its softmax");
  m.function<sdpa_forward_flat>("sdpa_forward_flat", "softmax(scale q k + bias) v, and the log-sum-exp of every row",
                                {args::kQ, args::kK, args::kV, args::kBias, args::kTokQ, args::kTokK, args::kHeadsQ,
                                 args::kHeadsKv, args::kDim, args::kScale, args::kUseBias})
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[[1,0],[1,0,0,1],[1,2,3,4],[0,\"-Infinity\"],1,2,1,1,2,0.7,true]");
  m.function<sdpa_scores_flat>(
       "sdpa_scores_flat", "scale q k of every head, query and key",
       {args::kQ, args::kK, args::kTokQ, args::kTokK, args::kHeadsQ, args::kHeadsKv, args::kDim, args::kScale})
      .statuses(kStatuses)
      .example("[[1,0],[1,0,0,1],1,2,1,1,2,0.7]");
  m.function<sdpa_softmax_rows_flat>("sdpa_softmax_rows_flat", "The softmax of every row; a row of -Infinity is 0",
                                     {{"scores", "[rows][cols]"}, {"rows", "rows"}, {"cols", "values a row"}})
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[[0,0,1,\"-Infinity\"],2,2]");
}

}  // namespace krt::attnk
