// The rotation of one row's queries and keys, heads of 128; tests/peers/torch_decode.py runs the same shapes through
// torch.

#include <cmath>
#include <memory>

#include "modules/decode/contract/contract.h"
#include "modules/decode/rope/rope.h"
#include "runtime/bench/bench.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"

namespace krt::decode {
namespace {

constexpr std::int64_t kHeadDim = 128, kPosition = 1000;

struct Bench {
  Bench(std::size_t d, std::size_t k_width) : d(d), k_width(k_width) {}

  std::size_t d, k_width;  // values of the queries and of the keys
  krt::testing::TestContext context{1};
  std::vector<float> q = {}, k = {};

  void run() {
    const std::int64_t pos[] = {kPosition};
    bench::keep(rope(context, std::span(q), std::span(k), pos, kHeadDim, 10000, false).status);
  }

  std::string check() {
    krt::testing::Rng rng(20261205);
    q = rng.normals<float>(d);
    k = rng.normals<float>(k_width);
    const std::vector<float> before = q;
    run();
    constexpr std::size_t kPairs = kHeadDim / 2;
    for (std::size_t i = 0; i < d; ++i) {
      const std::size_t pair = i % kPairs, head = i / kHeadDim * kHeadDim;
      const double angle = kPosition * std::pow(10000.0, -static_cast<double>(pair) / kPairs);
      const double a = before[head + pair], b = before[head + pair + kPairs];
      const bool first = i % kHeadDim < kPairs;
      const double cos = std::cos(angle), sin = std::sin(angle);
      const double want = first ? a * cos - b * sin : b * cos + a * sin;
      const double products = first ? std::fabs(a * cos) + std::fabs(b * sin) : std::fabs(b * cos) + std::fabs(a * sin);
      if (!(std::fabs(double{q[i]} - want) <= 0x1p-22 * products)) return "outside the error bound";
    }
    return "";
  }
};

}  // namespace

void bench_rope(bench::Suite& suite) {
  for (const std::size_t d : {1024, 4096, 8192}) {
    const auto b = std::make_shared<Bench>(d, d / 4);
    suite.add({.name = "decode.rope/" + std::to_string(d) + "+" + std::to_string(d / 4),
               .work = static_cast<double>(2 * (d + d / 4) * sizeof(float)),
               .ceiling = bench::Ceiling::kReadBandwidth,
               .check = [b] { return b->check(); },
               .run = [b] { b->run(); }});
  }
}

}  // namespace krt::decode
