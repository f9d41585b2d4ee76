// The projections of Qwen3-0.6B as a decode step meets them: another matrix with every call, none of them in a cache.

#include <memory>

#include "modules/gemm/blocked/blocked.h"
#include "modules/llmk/gemv_fast/gemv_fast.h"
#include "runtime/bench/bench.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"

namespace krt::llmk {
namespace {

// As many bytes of weights as the read bandwidth is measured on.
constexpr std::size_t kWeights = std::size_t{1} << 26;

std::shared_ptr<std::vector<double>> shared_weights() {
  static std::weak_ptr<std::vector<double>> alive;  // one for all cases, made for the first that runs
  auto weights = alive.lock();
  if (weights == nullptr) {
    weights = std::make_shared<std::vector<double>>(kWeights);
    std::vector<double> some = krt::testing::Rng(20261225).normals<double>(1 << 20);
    for (std::size_t i = 0; i < kWeights; ++i) (*weights)[i] = some[i % some.size()];
    alive = weights;
  }
  return weights;
}

struct Bench {
  std::size_t m, n;
  int threads;
  std::shared_ptr<std::vector<double>> weights = {};
  std::vector<double> x = {};
  std::unique_ptr<krt::testing::TestContext> context = {};
  std::size_t next = 0;

  ParallelGemvResult run() {
    next = next + 2 * m * n <= kWeights ? next + m * n : 0;
    return gemv_transposed_parallel_flat(*context, std::span(*weights).subspan(next, m * n), x,
                                         static_cast<std::int64_t>(m), static_cast<std::int64_t>(n));
  }

  std::string check() {
    weights = shared_weights();
    x = krt::testing::Rng(20261226).normals<double>(m);
    context = std::make_unique<krt::testing::TestContext>(threads);
    const std::vector<double> y = run().y;
    const auto want = gemm::gemv_flat(*context, std::span(*weights).subspan(next, m * n), x,
                                      static_cast<std::int64_t>(m), static_cast<std::int64_t>(n), true);
    return y == want.c ? "" : "other values than gemm.blocked.gemv_flat";
  }
};

}  // namespace

void bench_gemv_fast(bench::Suite& suite) {
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{1024, 2048}, {1024, 3072}, {3072, 1024}}) {
    for (const int threads : {1, 2}) {
      const auto b = std::make_shared<Bench>(Bench{m, n, threads});
      suite.add({.name = "llmk.gemv_fast/" + std::to_string(m) + "x" + std::to_string(n) +
                         "/threads=" + std::to_string(threads),
                 .work = static_cast<double>(m * n * sizeof(double)),
                 .ceiling = bench::Ceiling::kReadBandwidth,
                 .threads = threads,
                 .check = [b] { return b->check(); },
                 .run = [b] { bench::keep(b->run().y.data()); }});
    }
  }
}

}  // namespace krt::llmk
