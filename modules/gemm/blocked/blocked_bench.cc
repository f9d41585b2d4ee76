// The f64 matrix product: a square one, and a prefill of 128 tokens through a projection of Qwen3-0.6B.

#include "modules/gemm/blocked/sgemm.h"
#include "runtime/bench/bench.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"

namespace krt::gemm {
namespace {

struct Bench {
  Bench(std::int64_t m, std::int64_t n, std::int64_t k, int threads) : context(threads), m(m), n(n), k(k) {
    krt::testing::Rng rng(20261230);
    a = rng.normals<double>(static_cast<std::size_t>(m * k));
    b = rng.normals<double>(static_cast<std::size_t>(k * n));
  }
  GemmResult run() { return sgemm_flat(context, a, b, m, n, k, 1, 0, false, false); }
  // Its last row, by the plain transposed product of that row of a: the same order of sums, so the same bits.
  std::string check() {
    const std::vector<double> c = run().c;
    const auto row = std::span(a).last(static_cast<std::size_t>(k));
    const std::vector<double> want = gemv_flat(context, b, row, k, n, true).c;
    return std::equal(want.begin(), want.end(), c.end() - n) ? "" : "other values than gemv_flat";
  }

  krt::testing::TestContext context;
  std::int64_t m, n, k;
  std::vector<double> a, b;
};

}  // namespace

void bench_blocked(bench::Suite& suite) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{512, 512, 512}, {128, 3072, 1024}}) {
    for (const int threads : {1, 2}) {
      const auto b = bench::made_late<Bench>(m, n, k, threads);
      const std::string shape = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
      suite.add({.name = "gemm.sgemm_flat/" + shape + "/threads=" + std::to_string(threads),
                 .work = 2.0 * static_cast<double>(m * n * k),
                 .ceiling = bench::Ceiling::kFp32,  // of which f64 without fused steps can reach a quarter
                 .threads = threads,
                 .check = [b] { return b().check(); },
                 .run = [b] { bench::keep(b().run().c.data()); }});
    }
  }
}

}  // namespace krt::gemm
