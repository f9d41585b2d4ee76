#include "modules/decode/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "modules/decode/attention/attention_testing.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/value_check.h"

namespace krt::decode {
namespace {

using krt::testing::ValueCheck;
using testing::Fixture;
using testing::GuardedCache;
using testing::Problem;
using testing::Shape;

// Single keys, tails of blocks and capacities, every ratio of heads, every head dimension of a real model and odd ones.
constexpr Shape kShapes[] = {
    {1, 1, 1, 0, 1, 1, 0, 0},        {1, 1, 4, 0, 1, 1, 0, 0},        {2, 1, 64, 0, 5, 5, 0, 0},
    {4, 2, 64, 3, 1, 9, 0, 0},       {9, 3, 64, 254, 3, 257, 0, 0},   {8, 8, 80, 255, 1, 256, 0, 0},
    {6, 2, 96, 256, 1, 300, 0, 0},   {16, 8, 128, 511, 2, 513, 0, 0}, {4, 1, 256, 300, 4, 304, 0, 0},
    {7, 1, 128, 100, 11, 111, 0, 0}, {2, 2, 33, 40, 3, 43, 0, 0},     {3, 1, 72, 260, 6, 270, 0, 0},
    {4, 2, 64, 600, 5, 610, 3, 0},   {4, 2, 64, 600, 5, 610, 300, 0}, {4, 2, 128, 0, 70, 70, 16, 0},
    {2, 1, 256, 290, 3, 293, 1, 50}, {8, 4, 64, 200, 66, 266, 0, 30}, {4, 4, 128, 1030, 1, 1031, 1024, 0.5},
    {71, 1, 64, 270, 1, 271, 0, 0},  {8, 2, 48, 10, 40, 50, 2000, 0},
};

std::string name_of_shape(const Shape& s) {
  return std::to_string(s.q_heads) + "x" + std::to_string(s.kv_heads) + "x" + std::to_string(s.head_dim) + "_at_" +
         std::to_string(s.filled) + "_rows_" + std::to_string(s.rows);
}

class Attention : public ::testing::TestWithParam<Shape> {};

TEST_P(Attention, EveryVariantAndFormatIsWithinTheBound) {
  for (const CacheFormat format : kCacheFormats) {
    Problem p(GetParam(), format);
    SCOPED_TRACE(p.rng.trace());
    const std::vector<testing::OracleRow> want = p.oracle();
    for (const auto& variant : variants_here(attention_variants())) {
      ValueCheck check("decode.attention", variant.name);
      EXPECT_LE(testing::share_of_bound(want, p.run(variant.name)), 1) << variant.name << " " << name_of(format);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Attention, ::testing::ValuesIn(kShapes),
                         [](const auto& info) { return std::to_string(info.index) + "_" + name_of_shape(info.param); });

TEST(AttentionBound, ControlAnErrorBeyondTheBoundIsNoticed) {
  Problem p({4, 2, 64, 300, 2, 302, 0, 0}, CacheFormat::kF16);
  const std::vector<testing::OracleRow> want = p.oracle();
  for (const auto& variant : variants_here(attention_variants())) {
    std::vector<float> out = p.run(variant.name);
    EXPECT_LE(testing::share_of_bound(want, out), 1) << variant.name;
    out[100] += static_cast<float>(2 * want[1].bound);
    EXPECT_GT(testing::share_of_bound(want, out), 1) << variant.name;
    out[100] = std::nanf("");
    EXPECT_GT(testing::share_of_bound(want, out), 1) << variant.name;
  }
}

// The bound is for the worst case; a form that loses digits everywhere (a half-precision sum, say) is far outside this.
TEST(AttentionBound, TypicalErrorsAreFarBelow) {
  Problem p({8, 4, 128, 2000, 3, 2003, 0, 0}, CacheFormat::kF32);
  const std::vector<testing::OracleRow> want = p.oracle();
  for (const auto& variant : variants_here(attention_variants()))
    EXPECT_LE(testing::share_of_bound(want, p.run(variant.name)), 0.01) << variant.name;
}

// What torch answers in f64 for the same f32 values: tests/oracle/decode_attention_fixtures.py.
TEST(AttentionOracle, AgreesWithTorch) {
  for (const auto& c : krt::testing::fixture("decode_attention")) {
    SCOPED_TRACE(c.name());
    const auto size = [&](const char* field) { return static_cast<std::size_t>(c.integer(field)); };
    const std::size_t q_heads = size("q_heads"), d = size("head_dim"), keys = size("keys"), rows = size("rows");
    const GuardedCache cache(CacheFormat::kF32, size("kv_heads"), keys, d);
    const std::vector<float> q = c.f32s("q"), k = c.f32s("k"), v = c.f32s("v");
    const AttentionOptions options{c.number("scale"), size("window"), c.number("softcap")};
    const std::vector<double> torch = c.f64s("out");
    for (const auto& variant : variants_here(attention_variants())) {
      ValueCheck check("decode.attention", variant.name);
      Fixture f(variant.name);
      append(f.context, cache.view, 0, k, v);
      std::vector<float> out(q.size());
      const AttentionQuery query{cache.view, keys - rows, rows, q.data(), out.data()};
      AttentionWorkspace workspace;
      attention_rows(f.context, {&query, 1}, q_heads, options, workspace);
      std::vector<testing::OracleRow> want = testing::oracle(query, q_heads, options);
      for (std::size_t i = 0; i < torch.size(); ++i) {
        EXPECT_NEAR(want[i / d].out[i % d], torch[i], 1e-13) << "this test's own oracle";
        want[i / d].out[i % d] = torch[i];
      }
      EXPECT_LE(testing::share_of_bound(want, out), 1) << variant.name;
    }
  }
}

}  // namespace
}  // namespace krt::decode
