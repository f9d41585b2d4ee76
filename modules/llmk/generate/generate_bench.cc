// The greedy choice over a Qwen3 vocabulary, and the cost shape of the two appends: 128 values into caches of 2,048
// and of 133,120. The copying form's time grows with the cache, the in-place form's does not (the peer of each row is
// the in-place append into the same cache).

#include "modules/llmk/generate/generate.h"
#include "runtime/bench/bench.h"
#include "runtime/testing/random.h"

namespace krt::llmk {
namespace {

constexpr std::int64_t kVocabulary = 151936, kNew = 128;

struct Logits {
  Logits() { row[12095] = 25.5; }
  std::vector<double> row = krt::testing::Rng(20261228).normals<double>(kVocabulary);
};

void bench_argmax(bench::Suite& suite) {
  const auto logits = bench::made_late<Logits>();
  suite.add(
      {.name = "llmk.greedy_argmax/" + std::to_string(kVocabulary),
       .work = static_cast<double>(kVocabulary * sizeof(double)),
       .check =
           [logits] { return greedy_argmax_flat(logits().row, kVocabulary).token_id == 12095 ? "" : "another id"; },
       .run = [logits] { bench::keep(greedy_argmax_flat(logits().row, kVocabulary).token_id); }});
}

struct Caches {
  explicit Caches(std::int64_t length) : reserved(kv_cache_reserve_flat(length + kNew)) {
    krt::testing::Rng rng(20261229);
    cache = rng.normals<double>(static_cast<std::size_t>(length));
    new_vals = rng.normals<double>(kNew);
    kv_cache_append_into_flat(reserved, cache, 0, length);
  }
  KvAppendResult copying() { return kv_cache_append_flat(cache, new_vals, std::ssize(cache), kNew); }
  std::int64_t in_place() { return kv_cache_append_into_flat(reserved, new_vals, std::ssize(cache), kNew); }
  std::string check() {
    return in_place() == kOk && copying().out == reserved ? "" : "the two appends give different caches";
  }

  std::vector<double> cache, new_vals, reserved;
};

void bench_append(bench::Suite& suite) {
  for (const std::int64_t length : {2048, 2048 + 131072}) {
    const auto c = bench::made_late<Caches>(length);
    suite.add({.name = "llmk.kv_cache_append/" + std::to_string(kNew) + "_into_" + std::to_string(length),
               .check = [c] { return c().check(); },
               .run = [c] { bench::keep(c().copying().out.data()); },
               .peer = "in place",
               .peer_run = [c] { bench::keep(c().in_place()); }});
  }
}

}  // namespace

void bench_generate(bench::Suite& suite) {
  bench_argmax(suite);
  bench_append(suite);
}

}  // namespace krt::llmk
