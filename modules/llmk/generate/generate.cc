#include "modules/llmk/generate/generate.h"

#include <cmath>

#include "modules/llm_sampling/scalar/scalar.h"
#include "runtime/registry/module_builder.h"

namespace krt::llmk {
namespace {

// A row is looked at block by block, so that the second look, for the first id that has the maximum, is at one block
// only. Within a block the maxima are independent: no comparison waits for its neighbour's.
constexpr std::size_t kBlock = 1024, kLanes = 8;

// The largest value of a block that is not empty; a NaN where it holds any.
double block_maximum(std::span<const double> block) {
  std::array<double, kLanes> best;
  std::array<std::int64_t, kLanes> nan{};  // a mask as wide as the values: the loop becomes two compares and two blends
  best.fill(block[0]);
  const auto take = [&](std::size_t lane, double v) {
    best[lane] = v > best[lane] ? v : best[lane];
    nan[lane] |= v != v ? -1 : 0;
  };
  std::size_t i = 0;
  for (; i + kLanes <= block.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) take(lane, block[i + lane]);
  for (; i < block.size(); ++i) take(0, block[i]);
  const bool any_nan = std::any_of(nan.begin(), nan.end(), [](std::int64_t mask) { return mask != 0; });
  return any_nan ? std::nan("") : *std::max_element(best.begin(), best.end());
}

// llm_sampling's formula, asked of one id after the other; where the maximum is a NaN, the first NaN.
std::size_t first_maximum(std::span<const double> logits, std::size_t id, double maximum) {
  if (std::isnan(maximum)) {
    while (!std::isnan(logits[id])) ++id;
    return id;
  }
  while (llm_sampling::greedy_token_id(maximum, logits[id], static_cast<double>(id)) < 0) ++id;
  return id;
}

std::size_t argmax(std::span<const double> logits) {
  double maximum = block_maximum(logits.first(std::min(kBlock, logits.size())));
  std::size_t block = 0;
  for (std::size_t begin = kBlock; begin < logits.size() && !std::isnan(maximum); begin += kBlock) {
    const double here = block_maximum(logits.subspan(begin, std::min(kBlock, logits.size() - begin)));
    if (here <= maximum) continue;  // a tie belongs to the earlier block; a NaN is no tie
    maximum = here;
    block = begin;
  }
  return first_maximum(logits, block, maximum);
}

}  // namespace

KvAppendResult kv_cache_append_flat(std::span<const double> cache, std::span<const double> new_vals,
                                    std::int64_t cache_len, std::int64_t n_new) {
  const std::int64_t status = llmk_kv_append_dims_check(cache_len, std::ssize(cache), n_new, std::ssize(new_vals));
  if (status != kOk) return {{}, 0, status};
  return {detail::appended(cache, new_vals), cache_len + n_new, kOk};
}

GreedyResult greedy_argmax_flat(std::span<const double> logits, std::int64_t n) {
  const std::int64_t status = llmk_argmax_dims_check(n, std::ssize(logits));
  if (status != kOk) return {-1, 0, status};
  const std::size_t id = argmax(logits);
  return {static_cast<std::int64_t>(id), logits[id], kOk};
}

std::vector<double> kv_cache_reserve_flat(std::int64_t max_elements) {
  if (max_elements < 1 || max_elements > 2 * kMaxDim) return {};
  return std::vector<double>(static_cast<std::size_t>(max_elements));
}

std::int64_t kv_cache_append_into_flat(std::span<double> cache, std::span<const double> new_vals,
                                       std::int64_t cache_len, std::int64_t n_new) {
  return detail::append_into(cache, new_vals, cache_len, n_new);
}

void register_generate(Registry& registry) {
  ModuleBuilder m(registry, "llmk.generate", "KV-cache growth and the greedy choice of the next token");
  m.function<kv_cache_append_flat>("kv_cache_append_flat", "The cache followed by the new values, in new memory",
                                   {{"cache", "what earlier steps produced, exactly cache_len values"},
                                    {"new_vals", "what this step adds, exactly n_new values"},
                                    {"cache_len", "length of the cache, 0 to 2^24"},
                                    {"n_new", "how many values to add, 1 to 2^24"}})
      .statuses(kStatuses)
      .example("[[0,1,2,3,4,5],[100,101,102],6,3]");
  m.function<greedy_argmax_flat>("greedy_argmax_flat", "The first id whose logit is the row's maximum",
                                 {{"logits", "one row, exactly n values"}, {"n", "size of the vocabulary, 1 to 2^24"}})
      .details("numpy's rule: ties go to the first id, and the first NaN wins over every number")
      .statuses(kStatuses)
      .example("[[1,9,3],3]");
  m.function<kv_cache_reserve_flat>("_kv_cache_reserve_flat", "A zeroed cache of its known maximum size",
                                    {{"max_elements", "how many values it may ever hold"}})
      .example("[9]");
  m.function<kv_cache_append_into_flat>("_kv_cache_append_into_flat", "Appends to a reserved cache, in place",
                                        {{"cache", "the whole reserved buffer"},
                                         {"new_vals", "what this step adds, exactly n_new values"},
                                         {"cache_len", "how many values of the buffer are in use"},
                                         {"n_new", "how many values to add"}})
      .statuses(kStatuses)
      .caps({.side_effects = SideEffects::kChangesArguments})
      .example("[[0,0,0],[1,2],0,2]");
}

}  // namespace krt::llmk
