// The gate of one row: into a buffer of the caller, as an engine calls it, and with a result of its own;
// tests/peers/torch_decode.py runs the same shapes through torch.

#include <cmath>
#include <memory>

#include "modules/decode/silu_mul/silu_mul.h"
#include "runtime/bench/bench.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"

namespace krt::decode {
namespace {

struct Bench {
  explicit Bench(std::size_t n) : n(n) {}

  std::size_t n;
  krt::testing::TestContext context{1};
  std::vector<float> gate = {}, up = {}, out = {};

  std::string check() {
    krt::testing::Rng rng(20261203);
    gate = rng.normals<float>(n);
    up = rng.normals<float>(n);
    out.resize(n);
    silu_mul_into(context, gate, up, out);
    if (silu_mul(context, gate, up).out != out) return "the two forms differ";
    for (std::size_t i = 0; i < n; ++i) {
      const double want = double{gate[i]} / (1 + std::exp(-double{gate[i]})) * double{up[i]};
      if (!(std::fabs(double{out[i]} - want) <= 5 * 0x1p-23 * std::fabs(want))) return "outside the error bound";
    }
    return "";
  }
};

}  // namespace

void bench_silu_mul(bench::Suite& suite) {
  for (const std::size_t n : {1024, 3072, 4096, 8192, 128256, 151936}) {
    const auto b = std::make_shared<Bench>(n);
    const auto add = [&](const char* kind, std::function<void()> run) {
      suite.add({.name = "decode.silu_mul/" + std::to_string(n) + kind,
                 .work = static_cast<double>(3 * n * sizeof(float)),
                 .ceiling = bench::Ceiling::kReadBandwidth,
                 .check = [b] { return b->check(); },
                 .run = std::move(run)});
    };
    add("", [b] { silu_mul_into(b->context, b->gate, b->up, b->out); });
    add("/new", [b] { bench::keep(silu_mul(b->context, b->gate, b->up).out.data()); });
  }
}

}  // namespace krt::decode
