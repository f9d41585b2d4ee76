// One layer's attention as a decode step and a prefill meet it: another layer's cache with every call, none of them in
// a processor's cache.

#include <cstring>
#include <memory>

#include "modules/decode/attention/attention_oracle.h"
#include "runtime/bench/bench.h"
#include "runtime/testing/test_context.h"

namespace krt::decode {
namespace {

constexpr std::size_t kQHeads = 16, kKvHeads = 8, kHeadDim = 128;  // of Qwen3-0.6B
constexpr std::size_t kBytes = std::size_t{1} << 29;               // as many as the read bandwidth is measured on

struct Bench {
  CacheFormat format;
  std::size_t keys, rows;
  int threads;
  std::vector<OwnedKvCache> layers = {};
  std::vector<float> q = {}, out = {};
  std::unique_ptr<krt::testing::TestContext> context = {};
  AttentionWorkspace workspace = {};
  std::size_t next = 0;

  [[nodiscard]] AttentionQuery query() { return {layers[next].view(), keys - rows, rows, q.data(), out.data()}; }

  void run() {
    next = (next + 1) % layers.size();
    const AttentionQuery one = query();
    attention_rows(*context, {&one, 1}, kQHeads, {}, workspace);
  }

  std::string check() {
    context = std::make_unique<krt::testing::TestContext>(threads);
    krt::testing::Rng rng(20261201);
    q = rng.normals<float>(rows * kQHeads * kHeadDim);
    out.resize(q.size());
    layers.clear();
    layers.emplace_back(format, kKvHeads, keys, kHeadDim);
    const KvCache first = layers.front().view();
    testing::fill(*context, first, keys, rng);
    const std::size_t wanted = rows == 1 ? (kBytes + 2 * first.bytes() - 1) / (2 * first.bytes()) : 1;
    while (layers.size() < wanted) {
      layers.emplace_back(format, kKvHeads, keys, kHeadDim);
      std::memcpy(layers.back().view().k, first.k, first.bytes());
      std::memcpy(layers.back().view().v, first.v, first.bytes());
    }
    run();
    AttentionQuery last = query();  // the oracle takes seconds a hundred rows
    last.pos += rows - 1;
    last.rows = 1;
    last.q += q.size() - kQHeads * kHeadDim;
    const std::span<const float> got = std::span(out).last(kQHeads * kHeadDim);
    return testing::share_of_bound(testing::oracle(last, kQHeads, {}), got) <= 1 ? "" : "outside the error bound";
  }
  [[nodiscard]] double flops() const {  // two products of two operations for each visible key
    double keys_seen = 0;
    for (std::size_t row = 0; row < rows; ++row) keys_seen += static_cast<double>(keys - rows + row + 1);
    return 4.0 * kQHeads * kHeadDim * keys_seen;
  }
};

void add(bench::Suite& suite, CacheFormat format, std::size_t keys, std::size_t rows, int threads) {
  const auto b = std::make_shared<Bench>(Bench{format, keys, rows, threads});
  const KvCache shape{format, kKvHeads, keys, kHeadDim};
  const std::string kind = rows == 1 ? "decode" : "prefill=" + std::to_string(rows);
  suite.add({.name = "decode.attention/" + kind + "/kv=" + std::to_string(keys) + "/" + std::string(name_of(format)) +
                     "/threads=" + std::to_string(threads),
             .work = rows == 1 ? 2.0 * static_cast<double>(shape.bytes()) : b->flops(),
             .ceiling = rows == 1 ? bench::Ceiling::kReadBandwidth : bench::Ceiling::kFp32,
             .threads = threads,
             .check = [b] { return b->check(); },
             .run = [b] { b->run(); }});
}

}  // namespace

void bench_attention(bench::Suite& suite) {
  for (const int threads : {1, 2}) {
    for (const CacheFormat format : kCacheFormats) add(suite, format, 4096, 1, threads);
    for (const std::size_t keys : {512, 16384}) add(suite, CacheFormat::kF16, keys, 1, threads);
    for (const CacheFormat format : {CacheFormat::kF16, CacheFormat::kQ8_0}) add(suite, format, 4096, 512, threads);
  }
}

}  // namespace krt::decode
