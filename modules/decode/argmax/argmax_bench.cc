// The first largest of a row of logits; tests/peers/torch_decode.py runs the same shapes through torch.

#include <algorithm>
#include <memory>

#include "modules/decode/argmax/argmax.h"
#include "runtime/bench/bench.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"

namespace krt::decode {
namespace {

struct Bench {
  explicit Bench(std::size_t n) : n(n) {}

  std::size_t n;
  krt::testing::TestContext context{1};
  std::vector<float> logits = {};

  std::string check() {
    logits = krt::testing::Rng(20261204).normals<float>(n);
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    return argmax_of(context, logits) == static_cast<std::size_t>(best) ? "" : "not the first largest";
  }
};

}  // namespace

void bench_argmax(bench::Suite& suite) {
  for (const std::size_t n : {1024, 4096, 8192, 128256, 151936}) {
    const auto b = std::make_shared<Bench>(n);
    suite.add({.name = "decode.argmax/" + std::to_string(n),
               .work = static_cast<double>(n * sizeof(float)),
               .ceiling = bench::Ceiling::kReadBandwidth,
               .check = [b] { return b->check(); },
               .run = [b] { bench::keep(argmax_of(b->context, b->logits)); }});
  }
}

}  // namespace krt::decode
