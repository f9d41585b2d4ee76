#include "runtime/bench/bench.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "runtime/bench/ceilings_simd.h"
#include "runtime/codec/json.h"

namespace krt::bench {
namespace {

std::string right() { return {}; }

TEST(Bench, ACaseWhoseCheckFailsIsNotTimed) {
  int runs = 0;
  const auto count = [&] { ++runs; };
  const Row row = run({.name = "x", .check = [] { return "wrong at 3"; }, .run = count, .peer_run = count});
  EXPECT_EQ(row.failure, "wrong at 3");
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(run({.name = "x", .check = {}, .run = count}).failure, "the case has no check");
  const auto throws = []() -> std::string { throw std::runtime_error("thrown"); };
  EXPECT_EQ(run({.name = "x", .check = throws, .run = count}).failure, "thrown");
}

// Spins for a time that is known beforehand; loose factors, since the machine is shared.
void spin(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(Bench, ReportsTheTimeOfACallAndTheRatioToThePeer) {
  using std::chrono::microseconds;
  const Row row = run({.name = "spin",
                       .check = right,
                       .run = [] { spin(microseconds(100)); },
                       .peer = "slower",
                       .peer_run = [] { spin(microseconds(400)); }});
  EXPECT_EQ(row.unit, "ns");
  EXPECT_GE(row.value, 100e3);
  EXPECT_GE(row.peer_value, 400e3);
  EXPECT_DOUBLE_EQ(row.ratio, row.peer_value / row.value);
  EXPECT_EQ(row.ceiling_share, 0);
}

TEST(Bench, WorkAndCallsScaleTheFigure) {
  const auto spin_1ms = [] { spin(std::chrono::milliseconds(1)); };
  EXPECT_LE(run({.name = "x", .work = 1e6, .check = right, .run = spin_1ms}).value, 1.0);  // 1 MB in 1 ms or more
  EXPECT_EQ(run({.name = "x", .work = 1e6, .check = right, .run = spin_1ms}).unit, "GB/s");
  EXPECT_GE(run({.name = "x", .calls = 1000, .check = right, .run = spin_1ms}).value, 1e3);
}

TEST(Bench, OneLineOfJson) {
  Row row{.name = "a/b", .unit = "ns", .peer = "p", .value = 123.456, .peer_value = 98765.4, .ratio = 0.033333333};
  EXPECT_EQ(to_json(row), R"({"name":"a/b","value":123.5,"unit":"ns","peer":"p","peer_value":98770.0,)"
                          R"("ratio":0.03333,"ceiling_share":null})");
  row = {.name = "c", .unit = "GB/s", .peer = {}, .failure = "wrong"};
  EXPECT_EQ(to_json(row), R"({"name":"c","value":null,"unit":"GB/s","peer":null,"peer_value":null,)"
                          R"("ratio":null,"ceiling_share":null,"failure":"wrong"})");
}

TEST(Ceilings, EveryWordIsReadOnce) {
  std::vector<std::uint64_t> words(4096);
  std::uint64_t want = 0;
  for (std::size_t i = 0; i < words.size(); ++i) want += words[i] = i * i + 1;
  EXPECT_EQ(read_words()(words.data(), words.size()), want);
}

TEST(Ceilings, FlopsAreCountedAndDone) {
  float sum = 0;
  const double flops = multiply_add()(1000, &sum);
  EXPECT_EQ(std::fmod(flops, 2.0 * kFmaChains * 1000), 0.0);
  EXPECT_GT(flops, 0);
  // Each chain is x_0 = i and x_n = 0.9999 x + 0.001; a chain of one vector lane is as good as any.
  const double lanes = flops / (2.0 * kFmaChains * 1000);
  double want = 0;
  for (std::size_t i = 0; i < kFmaChains; ++i) {
    double x = lanes > 1 ? static_cast<double>(i) : 0;
    for (int n = 0; n < 1000; ++n) x = 0.9999 * x + 0.001;
    want += x * lanes;
  }
  EXPECT_NEAR(sum, want, 1e-3 * want);
}

TEST(Ceilings, AreMeasuredOncePerProcess) {
  EXPECT_GT(fp32_rate(1), 0);
  EXPECT_EQ(fp32_rate(1), fp32_rate(1));
}

}  // namespace
}  // namespace krt::bench
