#include "modules/attnk/mask/mask.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "modules/attnk/contract/contract.h"
#include "runtime/registry/module_builder.h"

namespace krt::attnk {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

MaskSpec refused(std::int64_t status) { return {{}, 0, 0, 0, status}; }

std::int64_t check_shape(std::int64_t s_q, std::int64_t s_k) {
  if (s_q < 1 || s_k < 1) return kEmptyDimension;
  if (s_q > kMaxDim || s_k > kMaxDim) return kDimensionTooLarge;
  return kOk;
}

std::int64_t check_offset(std::int64_t s_q, std::int64_t s_k, std::int64_t offset) {
  if (const std::int64_t status = check_shape(s_q, s_k); status != kOk) return status;
  return offset > kMaxDim || offset < -kMaxDim ? kDimensionTooLarge : kOk;
}

// Row i sees the keys of visible(i), a range that is clipped to [0, s_k).
template <class Visible>
MaskSpec mask_of(std::int64_t s_q, std::int64_t s_k, const Visible& visible) {
  if (product({s_q, s_k}) > kMaxCells) return refused(kTooLarge);
  std::vector<double> bias(static_cast<std::size_t>(s_q * s_k), kMasked);
  std::int64_t seen = 0;
  for (std::int64_t i = 0; i < s_q; ++i) {
    const auto [first, last] = visible(i);
    const std::int64_t begin = std::clamp<std::int64_t>(first, 0, s_k);
    const std::int64_t end = std::clamp<std::int64_t>(last, begin, s_k);
    std::fill(bias.begin() + i * s_k + begin, bias.begin() + i * s_k + end, 0.0);
    seen += end - begin;
  }
  return {std::move(bias), s_q, s_k, s_q * s_k - seen, kOk};
}

using Keys = std::pair<std::int64_t, std::int64_t>;  // half-open

}  // namespace

MaskSpec mask_causal_flat(std::int64_t s_q, std::int64_t s_k, std::int64_t offset) {
  if (const std::int64_t status = check_offset(s_q, s_k, offset); status != kOk) return refused(status);
  return mask_of(s_q, s_k, [&](std::int64_t i) { return Keys{0, i + offset + 1}; });
}

MaskSpec mask_sliding_window_flat(std::int64_t s_q, std::int64_t s_k, std::int64_t window, std::int64_t offset) {
  if (window < 1) return refused(kEmptyDimension);
  if (const std::int64_t status = check_offset(s_q, s_k, offset); status != kOk) return refused(status);
  if (window > kMaxDim) return refused(kDimensionTooLarge);
  return mask_of(s_q, s_k, [&](std::int64_t i) { return Keys{i + offset + 1 - window, i + offset + 1}; });
}

MaskSpec mask_padding_flat(std::int64_t valid_len, std::int64_t s_q, std::int64_t s_k) {
  if (const std::int64_t status = check_shape(s_q, s_k); status != kOk) return refused(status);
  if (valid_len < 0 || valid_len > s_k) return refused(kParameterInvalid);
  return mask_of(s_q, s_k, [&](std::int64_t) { return Keys{0, valid_len}; });
}

MaskSpec mask_block_diagonal_flat(std::span<const std::int64_t> cu_seqlens, std::int64_t n_seq, std::int64_t total,
                                  bool causal) {
  if (const std::int64_t status = check_shape(n_seq, total); status != kOk) return refused(status);
  if (std::ssize(cu_seqlens) != n_seq + 1) return refused(kListLengthMismatch);
  if (!sequences_ok(cu_seqlens, n_seq) || cu_seqlens.back() != total) return refused(kSequencesInvalid);
  auto next = cu_seqlens.begin();  // the end of the sequence that row i belongs to; rows come in order
  return mask_of(total, total, [&](std::int64_t i) {
    while (*next <= i) ++next;
    return Keys{*std::prev(next), causal ? i + 1 : *next};
  });
}

MaskSpec mask_combine_flat(std::span<const double> a, std::span<const double> b, std::int64_t n) {
  if (const std::int64_t status = check_shape(1, n); status != kOk) return refused(status);
  if (std::ssize(a) != n || std::ssize(b) != n) return refused(kListLengthMismatch);
  std::vector<double> bias(a.size());
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = a[i] + b[i];
  const std::int64_t masked = std::count(bias.begin(), bias.end(), kMasked);
  return {std::move(bias), 1, n, masked, kOk};
}

std::int64_t mask_row_fully_masked(std::span<const double> bias, std::int64_t s_q, std::int64_t s_k) {
  if (const std::int64_t status = check_shape(s_q, s_k); status != kOk) return -status;
  if (std::ssize(bias) != s_q * s_k) return -kBiasLengthMismatch;
  for (std::int64_t i = 0; i < s_q; ++i) {
    const auto row = bias.subspan(static_cast<std::size_t>(i * s_k), static_cast<std::size_t>(s_k));
    if (std::all_of(row.begin(), row.end(), [](double b) { return b == kMasked; })) return i;
  }
  return -1;
}

MaskConvention mask_convention_agreement(double query_pos, double key_pos, double logit) {
  const bool seen = key_pos <= query_pos;
  const double bias = seen ? 0 : kMasked, masked = seen ? logit : kMasked;
  const double added = logit + bias;
  return {bias, masked, logit, added == masked || (std::isnan(added) && std::isnan(masked))};
}

void register_mask(Registry& registry) {
  ModuleBuilder m(registry, "attnk.mask", "Attention masks as an additive bias of 0 and -infinity");
  constexpr Arg kQueries{"s_q", "queries, the rows of the bias"};
  constexpr Arg kKeys{"s_k", "keys, the columns of the bias"};
  constexpr Arg kOffset{"offset", "position of the first query, -2^24 to 2^24 (s_k - s_q when decoding with a cache)"};
  m.function<mask_causal_flat>("mask_causal_flat", "Query i sees the keys up to i + offset", {kQueries, kKeys, kOffset})
      .statuses(kStatuses)
      .example("[2,4,2]");
  m.function<mask_sliding_window_flat>("mask_sliding_window_flat",
                                       "Query i sees the last `window` keys up to i + offset",
                                       {kQueries, kKeys, {"window", "how many keys, itself included"}, kOffset})
      .statuses(kStatuses)
      .example("[2,4,2,2]");
  m.function<mask_padding_flat>("mask_padding_flat", "Every query sees the first valid_len keys",
                                {{"valid_len", "keys that are real, 0 to s_k"}, kQueries, kKeys})
      .statuses(kStatuses)
      .example("[3,2,4]");
  m.function<mask_block_diagonal_flat>("mask_block_diagonal_flat", "Packed sequences: a token sees its own sequence",
                                       {{"cu_seqlens", "starts of the sequences and the end of the last, from 0"},
                                        {"n_seq", "sequences: one less than there are entries"},
                                        {"total", "tokens of all sequences: the last entry"},
                                        {"causal", "whether a token sees only those up to itself"}})
      .statuses(kStatuses)
      .example("[[0,1,3],2,3,true]");
  m.function<mask_combine_flat>("mask_combine_flat", "The sum of two biases: seen where both see it",
                                {{"a", "exactly n values"}, {"b", "exactly n values"}, {"n", "values, 1 to 2^24"}})
      .statuses(kStatuses)
      .example("[[0,\"-Infinity\"],[0,0],2]");
  m.function<mask_row_fully_masked>("mask_row_fully_masked", "The first row that sees no key, -1 where there is none",
                                    {{"bias", "[s_q][s_k]"}, kQueries, kKeys})
      .example("[[0,\"-Infinity\",\"-Infinity\",\"-Infinity\"],2,2]");
  m.function<mask_convention_agreement>(
       "mask_convention_agreement", "One causal decision as an added and as a replaced logit",
       {{"query_pos", "position of the query"}, {"key_pos", "position of the key"}, {"logit", "the scaled score"}})
      .example("[1.0,2.0,0.5]");
}

}  // namespace krt::attnk
