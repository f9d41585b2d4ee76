#include "modules/mlpk/embedding/embedding.h"

#include <algorithm>

#include "modules/mlpk/contract/contract.h"
#include "runtime/registry/module_builder.h"

namespace krt::mlpk {
namespace {

std::size_t parts_for(Context& context, std::size_t cells) {
  return static_cast<std::size_t>(mlp_workers_for(static_cast<std::int64_t>(cells), 0, context.arena.threads()));
}

bool all_in_range(std::span<const std::int64_t> ids, std::int64_t vocab) {
  return std::all_of(ids.begin(), ids.end(), [&](std::int64_t id) { return id >= 0 && id < vocab; });
}

// The checks of both directions: `values` is weight or dy, of `rows` rows.
std::int64_t check(std::span<const double> values, std::int64_t rows, std::int64_t values_mismatch,
                   std::span<const std::int64_t> ids, std::int64_t n_tok, std::int64_t vocab, std::int64_t d_model) {
  if (const std::int64_t status = mlp_vocab_check(n_tok, vocab, d_model); status != kOk) return status;
  const std::int64_t status =
      check_lengths(kOk, {{values.size(), rows * d_model, values_mismatch}, {ids.size(), n_tok, kBLengthMismatch}});
  return status == kOk && !all_in_range(ids, vocab) ? kIdOutOfRange : status;
}

std::int64_t count_distinct(std::span<const std::int64_t> ids, std::size_t vocab) {
  std::vector<bool> seen(vocab);
  for (const std::int64_t id : ids) seen[static_cast<std::size_t>(id)] = true;
  return std::count(seen.begin(), seen.end(), true);
}

}  // namespace

bool embedding_ids_in_range(std::span<const std::int64_t> ids, std::int64_t n_tok, std::int64_t vocab) {
  return n_tok >= 1 && std::ssize(ids) == n_tok && all_in_range(ids, vocab);
}

EmbedOut embedding_fwd_flat(Context& context, std::span<const double> weight, std::span<const std::int64_t> ids,
                            std::int64_t n_tok, std::int64_t vocab, std::int64_t d_model) {
  const std::int64_t status = check(weight, vocab, kWeightLengthMismatch, ids, n_tok, vocab, d_model);
  if (status != kOk) return {{}, 0, 0, status};
  const auto width = static_cast<std::size_t>(d_model);
  std::vector<double> y(ids.size() * width);
  const std::size_t parts = parts_for(context, y.size());
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(ids.size(), parts, part);
    for (std::size_t t = r.begin; t < r.end; ++t)
      std::copy_n(&weight[static_cast<std::size_t>(ids[t]) * width], width, &y[t * width]);
  });
  return {std::move(y), n_tok, d_model, kOk};
}

EmbedGrad embedding_bwd_flat(Context& context, std::span<const double> dy, std::span<const std::int64_t> ids,
                             std::int64_t n_tok, std::int64_t vocab, std::int64_t d_model) {
  const std::int64_t status = check(dy, n_tok, kGradLengthMismatch, ids, n_tok, vocab, d_model);
  if (status != kOk) return {{}, 0, 0, 0, status};
  const auto width = static_cast<std::size_t>(d_model), rows = static_cast<std::size_t>(vocab);
  std::vector<double> d_weight(rows * width);
  const std::size_t parts = parts_for(context, dy.size());
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(width, parts, part, 8);
    for (std::size_t t = 0; t < ids.size(); ++t)
      for (std::size_t j = r.begin; j < r.end; ++j)
        d_weight[static_cast<std::size_t>(ids[t]) * width + j] += dy[t * width + j];
  });
  return {std::move(d_weight), count_distinct(ids, rows), vocab, d_model, kOk};
}

void register_embedding(Registry& registry) {
  ModuleBuilder m(registry, "mlpk.embedding", "Rows of a table by token id, and the gradient of that");
  m.function<embedding_bwd_flat>("embedding_bwd_flat", "The gradient of the table: dy summed by id",
                                 {{"dy", "gradient of the rows, exactly n_tok * d_model values"},
                                  {"ids", "exactly n_tok token ids"},
                                  {"n_tok", "how many ids, 1 to 2^24"},
                                  {"vocab", "rows of the table, 1 to 2^24"},
                                  {"d_model", "width of a row, 1 to 2^24"}})
      .statuses(kStatuses)
      .example("[[1,2,3,4],[1,1],2,3,2]");
  m.function<embedding_fwd_flat>("embedding_fwd_flat", "The table's row of every id",
                                 {{"weight", "the table, exactly vocab * d_model values"},
                                  {"ids", "exactly n_tok token ids"},
                                  {"n_tok", "how many ids, 1 to 2^24"},
                                  {"vocab", "rows of the table, 1 to 2^24"},
                                  {"d_model", "width of a row, 1 to 2^24"}})
      .statuses(kStatuses)
      .example("[[1,2,3,4,5,6],[2,0],2,3,2]");
  m.function<embedding_ids_in_range>(
       "embedding_ids_in_range", "Whether there are n_tok ids, each a row of the table",
       {{"ids", "token ids"}, {"n_tok", "how many there must be"}, {"vocab", "rows of the table"}})
      .example("[[2,0],2,3]");
}

}  // namespace krt::mlpk
