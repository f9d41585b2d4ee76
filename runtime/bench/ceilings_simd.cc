#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/bench/ceilings_simd.cc"
#include "runtime/bench/ceilings_simd.h"

#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"
#include "runtime/dispatch/variant.h"

HWY_BEFORE_NAMESPACE();
namespace krt::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

std::uint64_t read(const std::uint64_t* words, std::size_t n) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t quarter = n / 4, lanes = hn::Lanes(d);
  const std::uint64_t *a = words, *b = a + quarter, *c = b + quarter, *e = c + quarter;
  auto sum_a = hn::Zero(d), sum_b = sum_a, sum_c = sum_a, sum_e = sum_a;
  for (std::size_t i = 0; i < quarter; i += lanes) {
    sum_a = hn::Add(sum_a, hn::LoadU(d, a + i));
    sum_b = hn::Add(sum_b, hn::LoadU(d, b + i));
    sum_c = hn::Add(sum_c, hn::LoadU(d, c + i));
    sum_e = hn::Add(sum_e, hn::LoadU(d, e + i));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum_a, sum_b), hn::Add(sum_c, sum_e))));
}

double fma(std::size_t rounds, float* sum) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, 0.9999F), step = hn::Set(d, 1e-3F);
  using V = hn::Vec<decltype(d)>;
  V chains[kFmaChains];
  for (std::size_t i = 0; i < kFmaChains; ++i) chains[i] = hn::Set(d, static_cast<float>(i));
  for (std::size_t round = 0; round < rounds; ++round)
    for (V& chain : chains) chain = hn::MulAdd(chain, scale, step);
  V total = hn::Zero(d);
  for (const V& chain : chains) total = hn::Add(total, chain);
  *sum = hn::GetLane(hn::SumOfLanes(d, total));
  return 2.0 * static_cast<double>(kFmaChains * hn::Lanes(d)) * static_cast<double>(rounds);
}

}  // namespace krt::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace krt::bench {
namespace {

std::uint64_t read_scalar(const std::uint64_t* words, std::size_t n) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += words[i];
  return sum;
}

double fma_scalar(std::size_t rounds, float* sum) {
  float chains[kFmaChains] = {};
  for (std::size_t round = 0; round < rounds; ++round)
    for (float& chain : chains) chain = chain * 0.9999F + 1e-3F;
  *sum = 0;
  for (const float chain : chains) *sum += chain;
  return 2.0 * static_cast<double>(kFmaChains) * static_cast<double>(rounds);
}

// The widest that the machine has, whatever KRT_ISA says: a ceiling is the machine's.
template <class Fn>
Fn* widest(const std::vector<Variant<Fn>>& variants) {
  for (const Variant<Fn>& v : variants)
    if (cpu_has(v.isa)) return v.run;
  return variants.back().run;
}

}  // namespace

ReadWords* read_words() { return widest(simd_variants<ReadWords>(KRT_SIMD_FORMS(read), read_scalar)); }
MultiplyAdd* multiply_add() { return widest(simd_variants<MultiplyAdd>(KRT_SIMD_FORMS(fma), fma_scalar)); }

}  // namespace krt::bench
#endif
