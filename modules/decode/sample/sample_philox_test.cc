#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "modules/decode/sample/philox.h"

namespace krt::decode {
namespace {

// The known answers of Random123 (kat_vectors, philox4x32 10), which its authors publish with the paper.
TEST(Philox, KnownAnswers) {
  constexpr std::uint32_t kAll = 0xffffffff;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({kAll, kAll, kAll, kAll}, {kAll, kAll}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(UniformDraw, FirstBlockGivesItsLowWords) {
  // 0xe169c58d6627e8d5 of the first known answer, its upper 53 bits.
  EXPECT_EQ(uniform_draw(0, 0, 0), static_cast<double>(0xe169c58d6627e8d5U >> 11U) * 0x1p-53);
}

TEST(UniformDraw, EveryKeyIsAnotherDrawBelowOne) {
  constexpr std::int64_t kEnds[] = {std::numeric_limits<std::int64_t>::min(), -1, 0, 1, std::int64_t{1} << 32,
                                    std::numeric_limits<std::int64_t>::max()};
  std::set<double> seen;
  for (const std::int64_t seed : kEnds)
    for (const std::int64_t sequence : kEnds)
      for (const std::int64_t position : kEnds) {
        const double u = uniform_draw(seed, sequence, position);
        EXPECT_TRUE(u >= 0 && u < 1) << u;
        EXPECT_TRUE(seen.insert(u).second) << seed << " " << sequence << " " << position;
      }
}

}  // namespace
}  // namespace krt::decode
