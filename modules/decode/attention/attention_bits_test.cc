// Equal bits, whatever a call is split by.

#include <gtest/gtest.h>

#include <memory>

#include "modules/decode/attention/attention_testing.h"

namespace krt::decode {
namespace {

using testing::Fixture;
using testing::in_chunks;
using testing::Problem;
using testing::random_rows;
using testing::Rng;
using testing::Rows;
using testing::same_bits;
using testing::Shape;

class AttentionBits : public ::testing::TestWithParam<CacheFormat> {};

TEST_P(AttentionBits, DependOnNeitherThreadsNorChunks) {
  const Shape shapes[] = {{4, 2, 64, 0, 270, 280, 0, 0}, {2, 2, 40, 0, 265, 265, 33, 20}};
  for (const Shape& shape : shapes)
    for (const auto& variant : variants_here(attention_variants())) {
      Rng rng(20270503);
      SCOPED_TRACE(rng.trace());
      const Rows rows = random_rows(rng, shape.rows, shape);
      const auto want = in_chunks(variant.name, 1, GetParam(), shape, rows, shape.rows);
      for (const std::size_t chunk : {1, 7, 32})
        EXPECT_TRUE(same_bits<float>(in_chunks(variant.name, 1, GetParam(), shape, rows, chunk), want))
            << variant.name << " chunks of " << chunk;
      for (const int threads : {2, 4, 16})
        EXPECT_TRUE(same_bits<float>(in_chunks(variant.name, threads, GetParam(), shape, rows, 135), want))
            << variant.name << " threads " << threads;
    }
}

// One query over a long context: where threads share one row's keys.
TEST_P(AttentionBits, OfALongDecodeDoNotDependOnThreads) {
  Problem p({4, 2, 64, 1300, 1, 1301, 0, 0}, GetParam());
  for (const auto& variant : variants_here(attention_variants())) {
    const std::vector<float> want = p.run(variant.name, 1);
    for (const int threads : {2, 4, 16})
      EXPECT_TRUE(same_bits<float>(p.run(variant.name, threads), want)) << variant.name << " threads " << threads;
  }
}

TEST_P(AttentionBits, OfASequenceDoNotDependOnTheOthers) {
  const Shape shapes[] = {{4, 2, 64, 700, 1, 701, 0, 0}, {4, 2, 64, 0, 9, 20, 0, 0}, {4, 1, 64, 255, 2, 257, 0, 0}};
  std::vector<std::unique_ptr<Problem>> problems;
  for (const Shape& shape : shapes)
    problems.push_back(std::make_unique<Problem>(shape, GetParam(), 20270504 + problems.size()));
  for (const auto& variant : variants_here(attention_variants()))
    for (const int threads : {1, 16}) {
      Fixture f(variant.name, threads);
      std::vector<std::vector<float>> out;
      std::vector<AttentionQuery> queries;
      for (const auto& p : problems) queries.push_back(p->query(out.emplace_back(p->q.size())));
      AttentionWorkspace workspace;
      attention_rows(f.context, queries, 4, {}, workspace);
      for (std::size_t i = 0; i < out.size(); ++i)
        EXPECT_TRUE(same_bits<float>(out[i], problems[i]->run(variant.name))) << variant.name << " sequence " << i;
    }
}

TEST(AttentionBitsControl, AnotherOrderOfKeysIsNoticed) {
  constexpr Shape kShape{2, 1, 64, 0, 64, 64, 0, 0};
  Rng rng(20270505);
  Rows rows = random_rows(rng, kShape.rows, kShape);
  for (const auto& variant : variants_here(attention_variants())) {
    if (variant.isa == Isa::kScalar) continue;  // rounded once from f64: mostly the same
    const auto want = in_chunks(variant.name, 1, CacheFormat::kF32, kShape, rows, 64);
    Rows swapped = rows;
    for (std::vector<float>* x : {&swapped.k, &swapped.v})
      std::swap_ranges(x->begin(), x->begin() + 64, x->end() - 128);
    const auto got = in_chunks(variant.name, 1, CacheFormat::kF32, kShape, swapped, 64);
    EXPECT_FALSE(same_bits<float>(std::span(got).last(128), std::span(want).last(128))) << variant.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, AttentionBits, ::testing::ValuesIn(kCacheFormats),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace krt::decode
