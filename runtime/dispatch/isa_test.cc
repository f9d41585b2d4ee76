#include "runtime/dispatch/isa.h"

#include <gtest/gtest.h>

namespace krt {
namespace {

constexpr Isa kAll[] = {Isa::kScalar, Isa::kSse4, Isa::kAvx2, Isa::kAvx3, Isa::kAvx3Dl, Isa::kAmx, Isa::kNeon};

TEST(Isa, NamesRoundTrip) {
  for (const Isa isa : kAll) EXPECT_EQ(isa_named(name_of(isa)).value(), isa);
}

TEST(Isa, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  for (const char* name : {"AVX2", "avx512", "", "avx2 "}) EXPECT_FALSE(isa_named(name).ok()) << name;
  EXPECT_EQ(isa_named("avx512").status().message(),
            "unknown instruction set 'avx512'; known are scalar, sse4, avx2, avx3, avx3_dl, amx, neon");
}

TEST(Isa, EveryMachineRunsScalarAndNoneRunsTwoArchitectures) {
  EXPECT_TRUE(cpu_has(Isa::kScalar));
  EXPECT_FALSE(cpu_has(Isa::kSse4) && cpu_has(Isa::kNeon));
}

TEST(Isa, WithinOneArchitectureEachIncludesThoseBefore) {
  for (const Isa better : {Isa::kAvx2, Isa::kAvx3, Isa::kAvx3Dl, Isa::kAmx})
    EXPECT_TRUE(!cpu_has(better) || cpu_has(static_cast<Isa>(static_cast<int>(better) - 1))) << name_of(better);
}

#if defined(__x86_64__)
// The compiler's own detection is the oracle, for the names that both compilers know.
TEST(Isa, AgreesWithTheCompilersDetection) {
  EXPECT_EQ(cpu_has(Isa::kSse4), __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_EQ(cpu_has(Isa::kAvx2), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(cpu_has(Isa::kAvx3), __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                                     __builtin_cpu_supports("avx512dq"));
  EXPECT_EQ(cpu_has(Isa::kAvx3Dl), cpu_has(Isa::kAvx3) && __builtin_cpu_supports("avx512vnni") &&
                                       __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bitalg"));
}
#endif

TEST(Isa, ACapDemotesAndNeverPromotes) {
  for (const Isa isa : kAll) {
    EXPECT_TRUE(within(isa, std::nullopt));
    EXPECT_TRUE(within(isa, isa));
    EXPECT_TRUE(within(Isa::kScalar, isa));
  }
  EXPECT_TRUE(within(Isa::kSse4, Isa::kAvx2));
  EXPECT_FALSE(within(Isa::kAvx3, Isa::kAvx2));
  EXPECT_TRUE(within(Isa::kAvx3Dl, Isa::kAmx));
  EXPECT_FALSE(within(Isa::kSse4, Isa::kScalar));
  EXPECT_FALSE(within(Isa::kAvx2, Isa::kNeon)) << "a cap of another architecture leaves only scalar";
  EXPECT_FALSE(within(Isa::kNeon, Isa::kAmx));
}

}  // namespace
}  // namespace krt
