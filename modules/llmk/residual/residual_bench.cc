// The residual add of a decode step (1,024 values, one loop) and of a prefill of 512 tokens (fanned out).

#include "modules/llmk/residual/residual.h"
#include "runtime/bench/bench.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"

namespace krt::llmk {
namespace {

struct Bench {
  explicit Bench(std::size_t n, int threads) : context(threads) {
    krt::testing::Rng rng(20261227);
    a = rng.normals<double>(n);
    b = rng.normals<double>(n);
  }
  ResidResult run() { return residual_add_flat(context, a, b, std::ssize(a)); }
  std::string check() {
    const ResidResult r = run();
    for (std::size_t i = 0; i < a.size(); ++i)
      if (r.out[i] != a[i] + b[i]) return "a wrong sum";
    return "";
  }

  krt::testing::TestContext context;
  std::vector<double> a, b;
};

}  // namespace

void bench_residual(bench::Suite& suite) {
  for (const auto& [n, threads] : {std::pair<std::size_t, int>{1024, 1}, {512 * 1024, 1}, {512 * 1024, 2}}) {
    const auto b = bench::made_late<Bench>(n, threads);
    suite.add({.name = "llmk.residual/" + std::to_string(n) + "/threads=" + std::to_string(threads),
               .work = static_cast<double>(3 * n * sizeof(double)),  // two read, one written
               .threads = threads,
               .check = [b] { return b().check(); },
               .run = [b] { bench::keep(b().run().out.data()); }});
  }
}

}  // namespace krt::llmk
