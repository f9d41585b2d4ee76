#include "modules/quant/formats/formats.h"

#include <gtest/gtest.h>

#include "modules/quant/formats/list.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::quant {
namespace {

using testing::GuardedBuffer;

struct Golden {
  std::vector<std::uint8_t> blocks;
  std::vector<float> values;
};

// tests/oracle/data/dequant/TYPE.bin: blocks, then the f32 values that the `gguf` package decodes them to.
Golden golden(const BlockInfo& info) {
  const std::string file = testing::fixture_bytes("dequant/" + std::string(info.name) + ".bin");
  const std::size_t per_block =
      static_cast<std::size_t>(info.bytes) + static_cast<std::size_t>(info.values) * sizeof(float);
  const std::size_t count = file.size() / per_block;
  EXPECT_GT(count, 0U) << "no oracle data for " << info.name;
  EXPECT_EQ(file.size() % per_block, 0U);
  Golden g{std::vector<std::uint8_t>(count * static_cast<std::size_t>(info.bytes)),
           std::vector<float>(count * static_cast<std::size_t>(info.values))};
  if (count == 0) return g;
  std::memcpy(g.blocks.data(), file.data(), g.blocks.size());
  std::memcpy(g.values.data(), file.data() + g.blocks.size(), g.values.size() * sizeof(float));
  return g;
}

// Equal bits, a NaN being any NaN.
::testing::AssertionResult same_values(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return ::testing::AssertionFailure() << got.size() << " values, want " << want.size();
  for (std::size_t i = 0; i < want.size(); ++i) {
    const bool same = std::isnan(want[i])
                          ? std::isnan(got[i])
                          : std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(want[i]);
    if (!same) return ::testing::AssertionFailure() << testing::at(i, got[i], want[i]);
  }
  return ::testing::AssertionSuccess();
}

TEST(Formats, EveryDecoderEqualsTheOracle) {
  testing::ValueCheck check("quant.decode");
  for (const Format& f : formats()) {
    if (!f.weights || f.info.type == 0) continue;
    SCOPED_TRACE(f.info.name);
    const Golden g = golden(f.info);
    const GuardedBuffer<std::uint8_t> blocks{std::span<const std::uint8_t>(g.blocks)};
    GuardedBuffer<float> out(g.values.size());
    f.decode(blocks.cspan().data(), g.blocks.size() / static_cast<std::size_t>(f.info.bytes), out.data());
    EXPECT_TRUE(same_values(out.cspan(), g.values));
    EXPECT_TRUE(same_values(decode(f.info.name, g.blocks).values, g.values));
  }
}

TEST(Formats, ControlAWrongBitIsNoticed) {
  Golden g = golden(Q4_K::kInfo);
  g.blocks[144 * 20 + 50] ^= 1;
  EXPECT_FALSE(same_values(decode("Q4_K", g.blocks).values, g.values));
}

TEST(Formats, PlainTypesConvert) {
  const std::int16_t ints[] = {-32768, 0, 5};
  std::vector<std::uint8_t> bytes(sizeof ints);
  std::memcpy(bytes.data(), ints, sizeof ints);
  EXPECT_EQ(decode("I16", bytes).values, (std::vector<float>{-32768, 0, 5}));
  const double doubles[] = {0.1, -1e300};
  bytes.resize(sizeof doubles);
  std::memcpy(bytes.data(), doubles, sizeof doubles);
  EXPECT_EQ(decode("F64", bytes).values, (std::vector<float>{0.1F, -std::numeric_limits<float>::infinity()}));
}

TEST(Formats, TableHasEveryTypeOnce) {
  EXPECT_EQ(formats().size(), WeightFormats::kSize + PlainFormats::kSize + 2);
  for (std::size_t i = 1; i < formats().size(); ++i) EXPECT_LT(formats()[i - 1].info.type, formats()[i].info.type);
  for (const std::uint32_t removed : {4U, 5U, 31U, 32U, 33U, 36U, 37U, 38U, 1000U})
    EXPECT_EQ(format_of(removed), nullptr);
  EXPECT_EQ(format_of(12)->info.name, "Q4_K");
  testing::ValueCheck check("quant.formats");
  EXPECT_EQ(format_list().size(), formats().size());
}

TEST(Formats, Refusals) {
  const std::vector<std::uint8_t> bytes(35);
  EXPECT_EQ(decode("Q8_0", bytes).status, kDataLengthMismatch);
  EXPECT_EQ(decode("Q8_0", {}).status, kEmptyDimension);
  EXPECT_EQ(decode("Q9_9", bytes).status, kUnknownFormat);
  EXPECT_EQ(decode("Q8_K", bytes).status, kUnknownFormat);
  testing::ValueCheck check("quant.status_name");
  EXPECT_EQ(quant_status_name(626), "quant_data_length_mismatch");
  EXPECT_EQ(quant_status_name(-1), "quant_code_out_of_range");
}

}  // namespace
}  // namespace krt::quant
