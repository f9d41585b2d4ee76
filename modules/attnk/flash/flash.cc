#include "modules/attnk/flash/flash.h"

#include <algorithm>

#include "modules/attnk/contract/args.h"
#include "modules/attnk/contract/contract.h"
#include "modules/attnk/sdpa/agreement.h"

namespace krt::attnk {

FlashOut flash_forward_flat(Context& context, std::span<const double> q, std::span<const double> k,
                            std::span<const double> v, std::span<const double> bias, std::int64_t n_tok_q,
                            std::int64_t n_tok_k, std::int64_t h_q, std::int64_t h_kv, std::int64_t d, double scale,
                            bool use_bias, std::int64_t block_k) {
  const Problem p{n_tok_q, n_tok_k, h_q, h_kv, d, scale};
  std::int64_t status = block_k < 1 ? std::int64_t{kEmptyDimension} : p.check(q, k, v);
  if (status == kOk && use_bias && std::ssize(bias) != n_tok_q * n_tok_k) status = kBiasLengthMismatch;
  if (status != kOk) return {{}, {}, 0, 0, 0, 0, status};

  const std::size_t block = static_cast<std::size_t>(std::min(block_k, n_tok_k));
  const std::size_t blocks = (p.keys() + block - 1) / block;
  std::vector<double> out(q.size()), lse(p.queries() * p.heads());
  const std::size_t parts = p.parts(context.arena);
  context.arena.parallel(parts, [&](std::size_t part) {
    std::vector<double> scores(block);
    const Range r = band(lse.size(), parts, part);
    for (std::size_t row = r.begin; row < r.end; ++row) {
      context.checkpoint();
      const std::size_t token = row / p.heads(), kv_head = row % p.heads() / p.group();
      const Rows keys = p.key_rows(k, kv_head), values = p.key_rows(v, kv_head);
      OnlineRow online(&out[row * p.dim()], p.dim());
      for (std::size_t first = 0; first < p.keys(); first += block) {
        const std::span<double> now = std::span(scores).first(std::min(block, p.keys() - first));
        const double* row_bias = use_bias ? &bias[token * p.keys() + first] : nullptr;
        score_row(&q[row * p.dim()], keys.from(first), p.dim(), scale, row_bias, now);
        online.add(now, values.from(first));
      }
      lse[row] = online.finish();
    }
  });
  return {std::move(out), std::move(lse), n_tok_q, h_q, d, static_cast<std::int64_t>(blocks), kOk};
}

FlashPlan flash_block_plan(std::int64_t s_k, std::int64_t d, std::int64_t cache_bytes) {
  if (const std::int64_t status = attn_dims_check(1, 1, 1, 1, s_k, d); status != kOk) return {0, 0, 0, 0, status};
  // A key, its value and its score a key; a query, an output, a maximum and a sum a row.
  const std::int64_t per_key = 8 * (2 * d + 1), per_row = 8 * (2 * d + 2);
  if (cache_bytes < per_row + per_key) return {0, 0, 0, 0, kParameterInvalid};
  const std::int64_t block = std::min((cache_bytes - per_row) / per_key, s_k);
  const auto square = static_cast<double>(s_k) * static_cast<double>(s_k);
  return {block, (s_k + block - 1) / block, per_row + block * per_key, 8 * square, kOk};
}

FlashAgreement flash_agrees_with_sdpa(Context& context, std::span<const double> q, std::span<const double> k,
                                      std::span<const double> v, std::span<const double> bias, std::int64_t n_tok_q,
                                      std::int64_t n_tok_k, std::int64_t h_q, std::int64_t h_kv, std::int64_t d,
                                      double scale, bool use_bias, std::int64_t block_k) {
  const FlashOut flash =
      flash_forward_flat(context, q, k, v, bias, n_tok_q, n_tok_k, h_q, h_kv, d, scale, use_bias, block_k);
  if (flash.status != kOk) return {0, 0, 0, false, 0, flash.status};
  const SdpaOut sdpa = sdpa_forward_flat(context, q, k, v, bias, n_tok_q, n_tok_k, h_q, h_kv, d, scale, use_bias);

  const double tolerance = softmax_tolerance(static_cast<std::size_t>(n_tok_k));
  Agreement out, lse;
  out.add(flash.out, sdpa.out, tolerance * magnitude(v));
  for (std::size_t i = 0; i < sdpa.lse.size(); ++i)
    lse.add(flash.lse[i], sdpa.lse[i], tolerance * std::max(1.0, std::fabs(sdpa.lse[i])));
  return {
      out.max_delta, lse.max_delta, out.tolerance_at_max, out.within && lse.within, out.compared + lse.compared, kOk};
}

void register_flash(Registry& registry) {
  ModuleBuilder m(registry, "attnk.flash", "Attention by an online softmax over blocks of keys, in f64");
  constexpr Arg kForward[] = {args::kQ,    args::kK,     args::kV,       args::kBias,
                              args::kTokQ, args::kTokK,  args::kHeadsQ,  args::kHeadsKv,
                              args::kDim,  args::kScale, args::kUseBias, {"block_k", "keys a block, 1 or more"}};
  m.function<flash_forward_flat>("flash_forward_flat", "attnk.sdpa block by block, without a whole row of scores",
                                 kForward)
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[[1,0],[1,0,0,1],[1,2,3,4],[],1,2,1,1,2,0.7,false,1]");
  m.function<flash_agrees_with_sdpa>("flash_agrees_with_sdpa", "How far flash_forward_flat is from sdpa_forward_flat",
                                     kForward)
      .caps(args::kLibm)
      .statuses(kStatuses)
      .example("[[1,0],[1,0,0,1],[1,2,3,4],[],1,2,1,1,2,0.7,false,1]");
  m.function<flash_block_plan>("flash_block_plan", "The largest block of keys whose working set fits a cache",
                               {{"s_k", "keys"}, args::kDim, {"cache_bytes", "bytes the block may take"}})
      .statuses(kStatuses)
      .example("[4096,128,49152]");
}

}  // namespace krt::attnk
