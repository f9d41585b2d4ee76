// One row's norm, as a decode step has it; tests/peers/torch_decode.py runs the same shapes through torch.

#include <cmath>
#include <memory>

#include "modules/decode/rmsnorm/rmsnorm.h"
#include "runtime/bench/bench.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"

namespace krt::decode {
namespace {

struct Bench {
  Bench(std::size_t d, bool adds) : d(d), adds(adds) {}

  std::size_t d;
  bool adds;
  krt::testing::TestContext context{1};
  std::vector<float> residual = {}, x = {}, weight = {}, out = {};

  void run() {
    if (adds)
      add_rmsnorm_rows(context, residual, x, weight, 1e-6, out);
    else
      rmsnorm_rows(context, x, weight, 1e-6, out);
  }

  std::string check() {
    krt::testing::Rng rng(20261202);
    residual = rng.normals<float>(d);
    x = rng.normals<float>(d, 1e-3);  // small: the residual stays near where it began
    weight = rng.normals<float>(d);
    out.resize(d);
    std::vector<double> values(d);
    double squares = 0;
    for (std::size_t i = 0; i < d; ++i) {
      values[i] = adds ? static_cast<double>(residual[i] + x[i]) : double{x[i]};
      squares += values[i] * values[i];
    }
    run();
    for (std::size_t i = 0; i < d; ++i) {
      const double want = values[i] / std::sqrt(squares / static_cast<double>(d) + 1e-6) * double{weight[i]};
      if (!(std::fabs(double{out[i]} - want) <= 0x1p-22 * std::fabs(want))) return "outside the error bound";
    }
    return "";
  }
};

}  // namespace

void bench_rmsnorm(bench::Suite& suite) {
  for (const bool adds : {false, true})
    for (const std::size_t d : {1024, 4096, 8192, 128256, 151936}) {
      const auto b = std::make_shared<Bench>(d, adds);
      suite.add({.name = std::string(adds ? "decode.add_rmsnorm/" : "decode.rmsnorm/") + std::to_string(d),
                 .work = static_cast<double>((adds ? 5 : 3) * d * sizeof(float)),
                 .ceiling = bench::Ceiling::kReadBandwidth,
                 .check = [b] { return b->check(); },
                 .run = [b] { b->run(); }});
    }
}

}  // namespace krt::decode
