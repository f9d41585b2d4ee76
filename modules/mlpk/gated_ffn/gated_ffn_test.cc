#include "modules/mlpk/gated_ffn/gated_ffn.h"

#include <gtest/gtest.h>

#include <cmath>

#include "modules/mlpk/activation/activation.h"
#include "modules/mlpk/activation/functions.h"
#include "modules/mlpk/contract/contract.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::mlpk {
namespace {

using testing::all_within;
using testing::fixture;
using testing::FixtureCase;
using testing::GuardedBuffer;
using testing::Rng;
using testing::same_bits;
using testing::TestContext;
using testing::ValueCheck;

constexpr double kU = 0x1p-53;

using Gate = decltype(swiglu_gate);
struct Named {
  const char* name;
  Gate* gate;
  std::int64_t kind;  // the activation of torch's gated cases
};
const Named kGates[] = {{"swiglu_gate", swiglu_gate, kSwiglu},
                        {"geglu_erf_gate", geglu_erf_gate, kGegluErf},
                        {"geglu_tanh_gate", geglu_tanh_gate, kGegluTanh},
                        {"geglu_tanh_fast_gate", geglu_tanh_fast_gate, kGegluTanh}};

TEST(Gates, MatchTorch) {
  for (const Named& g : kGates) {
    ValueCheck check(std::string("mlpk.gated_ffn.") + g.name);
    int found = 0;
    for (const FixtureCase& c : fixture("mlpk")) {
      if (c.text("kind") != "gated" || c.integer("activation") != g.kind) continue;
      SCOPED_TRACE(c.name());
      ++found;
      const GuardedBuffer<double> gate(c.f64s("gate")), up(c.f64s("value"));
      const auto n = static_cast<std::int64_t>(gate.cspan().size());
      const GateResult r = g.gate(TestContext(2), gate.cspan(), up.cspan(), n, 2);
      EXPECT_TRUE((all_within<double, double>(r.out, c.f64s("y"), [&](std::size_t i, double) {
        const double x = gate.cspan()[i];
        return 24 * kU * std::fabs(up.cspan()[i]) * (1 + std::fabs(x) + x * x);  // ours and torch's
      })));
      EXPECT_EQ(r.n, n);
      EXPECT_EQ(r.workers_used, 1);
      EXPECT_EQ(r.backend_used, kSerial);
      EXPECT_EQ(r.bytes_moved, 24.0 * static_cast<double>(n));
      EXPECT_EQ(r.status, kOk);
    }
    EXPECT_EQ(found, 3);
  }
}

TEST(Gates, SameBitsForEveryNumberOfWorkers) {
  Rng rng(20261222);
  SCOPED_TRACE(rng.trace());
  const std::int64_t n = 200003;
  const auto gate = rng.normals<double>(n, 3), up = rng.normals<double>(n);
  for (const Named& g : kGates) {
    const GateResult one = g.gate(TestContext(16), gate, up, n, 1);
    EXPECT_EQ(one.workers_used, 1);
    for (const std::int64_t requested : {std::int64_t{2}, std::int64_t{5}, std::int64_t{0}, INT64_MAX, INT64_MIN}) {
      const GateResult r = g.gate(TestContext(16), gate, up, n, requested);
      EXPECT_TRUE(same_bits<double>(r.out, one.out)) << g.name << ' ' << requested;
      EXPECT_EQ(r.workers_used, requested == 2 || requested == 5 ? requested : 6);  // 200003 / 2^15
      EXPECT_EQ(r.backend_used, kParallel);
    }
  }
}

TEST(Gates, TheTwoTanhFormsAreTheSameFunction) {
  Rng rng(20261223);
  const auto gate = rng.normals<double>(2000, 3);
  const std::vector<double> ones(2000, 1.0);
  const GateResult plain = geglu_tanh_gate(TestContext(), gate, ones, 2000, 1),
                   fast = geglu_tanh_fast_gate(TestContext(), gate, ones, 2000, 1);
  EXPECT_TRUE((all_within<double, double>(fast.out, plain.out, [&](std::size_t i, double want) {
    return 4 * kU * std::fabs(gate[i]) + (8 * std::fabs(gelu_tanh_argument(gate[i])) + 8) * kU * std::fabs(want);
  })));
  EXPECT_FALSE(same_bits<double>(fast.out, plain.out));  // the control: they are two computations
}

TEST(Gates, RefuseWrongDimensions) {
  const std::vector<double> six(6, 1.0), four(4, 1.0);
  const struct {
    std::span<const double> gate, up;
    std::int64_t n, status;
  } rows[] = {{six, six, 0, kEmptyDimension},
              {six, six, INT64_MIN, kEmptyDimension},
              {six, six, INT64_MAX, kDimensionTooLarge},
              {four, six, 6, kALengthMismatch},
              {six, four, 6, kBLengthMismatch},
              {six, six, 5, kALengthMismatch}};
  for (const Named& g : kGates) {
    for (const auto& row : rows) {
      const GateResult r = g.gate(TestContext(), row.gate, row.up, row.n, 1);
      EXPECT_EQ(r.status, row.status);
      EXPECT_TRUE(r.out.empty());
      EXPECT_EQ(r.workers_used, 0);
      EXPECT_EQ(r.bytes_moved, 0);
    }
  }
}

TEST(GateBytesMoved, IsTwentyFourAValue) {
  ValueCheck check("mlpk.gated_ffn.gate_bytes_moved");
  EXPECT_EQ(gate_bytes_moved(1024), 24576);
  EXPECT_EQ(gate_bytes_moved(0), 0);
  EXPECT_EQ(gate_bytes_moved(INT64_MIN), 0);
  EXPECT_GT(gate_bytes_moved(INT64_MAX), 2e20);
}

TEST(SwigluBlock, MatchesTorch) {
  ValueCheck check("mlpk.gated_ffn.swiglu_ffn_block");
  int found = 0;
  for (const FixtureCase& c : fixture("mlpk")) {
    if (c.text("kind") != "block") continue;
    SCOPED_TRACE(c.name());
    ++found;
    const std::int64_t tokens = c.integer("tokens"), d_model = c.integer("d_model"), d_ff = c.integer("d_ff");
    const BlockResult r =
        swiglu_ffn_block(TestContext(), c.f64s("x"), c.f64s("wg"), c.f64s("wu"), c.f64s("wd"), tokens, d_model, d_ff);
    const std::vector<double> magnitude = c.f64s("magnitude");
    // Ours and torch's: two sums of d_model, the activation (whose slope is below 1.1), a sum of d_ff.
    EXPECT_TRUE((all_within<double, double>(r.out, c.f64s("out"), [&](std::size_t i, double) {
      return 2 * kU * static_cast<double>(2 * d_model + d_ff + 24) * magnitude[i];
    })));
    EXPECT_EQ(r.rows, tokens);
    EXPECT_EQ(r.cols, d_model);
    EXPECT_EQ(r.flop_count, 6.0 * static_cast<double>(tokens * d_model * d_ff));
    EXPECT_EQ(r.gate_bytes, 24.0 * static_cast<double>(tokens * d_ff));
    EXPECT_EQ(r.gate_workers, 1);
    EXPECT_EQ(r.status, kOk);
  }
  EXPECT_EQ(found, 4);
}

TEST(SwigluBlock, SameBitsAtEveryThreadCount) {
  Rng rng(20261224);
  SCOPED_TRACE(rng.trace());
  const auto x = rng.normals<double>(40 * 64), wg = rng.normals<double>(64 * 900), wu = rng.normals<double>(64 * 900),
             wd = rng.normals<double>(900 * 64);
  const BlockResult one = swiglu_ffn_block(TestContext(), x, wg, wu, wd, 40, 64, 900);
  for (const int threads : {2, 16})
    EXPECT_TRUE(same_bits<double>(swiglu_ffn_block(TestContext(threads), x, wg, wu, wd, 40, 64, 900).out, one.out));
}

TEST(SwigluBlock, RefusesWrongDimensions) {
  const std::vector<double> six(6, 1.0), four(4, 1.0);
  const auto block = [&](std::span<const double> x, std::span<const double> wd, std::int64_t t, std::int64_t d,
                         std::int64_t f) {
    const BlockResult r = swiglu_ffn_block(TestContext(), x, six, six, wd, t, d, f);
    EXPECT_EQ(r.out.empty(), r.status != kOk);
    return r.status;
  };
  EXPECT_EQ(block(six, six, 2, 3, 2), kOk);
  EXPECT_EQ(block(four, six, 2, 3, 2), kALengthMismatch);
  EXPECT_EQ(block(six, four, 2, 3, 2), kWeightLengthMismatch);
  EXPECT_EQ(block(six, six, 0, 3, 2), kEmptyDimension);
  EXPECT_EQ(block(six, six, 2, 3, INT64_MAX), kDimensionTooLarge);
}

}  // namespace
}  // namespace krt::mlpk
