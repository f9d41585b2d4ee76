#include "modules/quant/formats/formats.h"

#include <gtest/gtest.h>

#include "modules/quant/formats/list.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/guarded_buffer.h"
#include "runtime/testing/random.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"
#include "runtime/testing/value_check.h"

namespace krt::quant {
namespace {

using testing::GuardedBuffer;
using testing::TestContext;

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

std::vector<float> floats_of(const std::string& bytes) {
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// Where two byte strings part, -1 where they are the same.
std::int64_t first_difference(std::span<const std::uint8_t> got, const std::string& want) {
  const auto [a, b] = std::mismatch(got.begin(), got.end(), want.begin(), want.end(),
                                    [](std::uint8_t x, char y) { return x == static_cast<std::uint8_t>(y); });
  return a == got.end() && b == want.end() ? -1 : a - got.begin();
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

TEST(Formats, EncodersThatTheOracleHasWriteItsBytes) {
  testing::ValueCheck check("quant.encode");
  const std::vector<float> values = floats_of(testing::fixture_bytes("quantize/values.f32"));
  for (const char* type : {"F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"}) {
    SCOPED_TRACE(type);
    const std::string want = testing::fixture_bytes("quantize/" + std::string(type) + ".bin");
    for (const int threads : {1, 2, 16}) {
      TestContext context(threads);
      const EncodeResult r = encode(context, type, values);
      EXPECT_EQ(r.status, kOk);
      EXPECT_EQ(r.n, std::ssize(values));
      EXPECT_EQ(first_difference(r.data.as<std::uint8_t>(), want), -1);
    }
  }
}

TEST(Formats, ControlAnotherValueIsNoticed) {
  std::vector<float> values = floats_of(testing::fixture_bytes("quantize/values.f32"));
  values[32 * 100] += 0.01F;
  TestContext context;
  EXPECT_EQ(first_difference(encode(context, "Q8_0", values).data.as<std::uint8_t>(),
                             testing::fixture_bytes("quantize/Q8_0.bin")) /
                34,
            100);
}

TEST(Formats, F32IsItself) {
  TestContext context;
  const std::vector<float> values{0.0F, -0.0F, 1e-45F, std::numeric_limits<float>::max(), -1.5F};
  const EncodeResult r = encode(context, "F32", values);
  EXPECT_TRUE(same_values(decode("F32", r.data.as<std::uint8_t>()).values, values));
}

// Rows of a few distributions, as weights may have them.
std::vector<std::vector<float>> random_rows(std::size_t n) {
  testing::Rng rng(20261130);
  std::vector<float> uniform(n), heavy(n), positive(n), outliers = rng.normals<float>(n, 0.02);
  for (float& x : uniform) x = static_cast<float>(rng.uniform(-1, 1));
  for (float& x : heavy) x = static_cast<float>(rng.normal() / std::sqrt(rng.uniform(0.01, 1)) * 0.02);
  for (float& x : positive) x = static_cast<float>(rng.uniform(0.5, 1));
  for (std::size_t i = 0; i < n; i += 100) outliers[i] *= 10;
  return {rng.normals<float>(n, 0.02), uniform, heavy, positive, outliers};
}

std::vector<float> round_trip(Context& context, std::string_view type, std::span<const float> x) {
  const EncodeResult r = encode(context, type, x);
  EXPECT_EQ(r.status, kOk);
  return decode(type, r.data.as<std::uint8_t>()).values;
}

double rms_error(std::span<const float> got, std::span<const float> want) {
  double sum = 0;
  for (std::size_t i = 0; i < want.size(); ++i) sum += std::pow(double{got[i]} - double{want[i]}, 2);
  return std::sqrt(sum / static_cast<double>(want.size()));
}

// The plain encoder of a K format: every sub-block reaches its extremes, integers and levels are the nearest. On
// values.
template <KFormat f>
std::vector<float> nearest_round_trip(std::span<const float> x) {
  constexpr std::size_t kSub = f.sub_values;
  std::vector<float> out(x.size());
  for (std::size_t block = 0; block < x.size(); block += kKValues) {
    std::array<float, kKValues / kSub> scale, minimum{};
    for (std::size_t s = 0; s < scale.size(); ++s) {
      const float* sub = x.data() + block + s * kSub;
      const auto [low, high] = std::minmax_element(sub, sub + kSub);
      if (f.minimum_top > 0) minimum[s] = -std::min(*low, 0.0F);
      scale[s] = f.minimum_top > 0 ? (*high + minimum[s]) / f.top : extreme(sub, kSub) / -f.zero;
    }
    const float d = as_f16(extreme(scale.data(), scale.size()) / (f.minimum_top > 0 ? f.scale_top : f.scale_low));
    const float dmin = as_f16(extreme(minimum.data(), minimum.size()) / std::max(f.minimum_top, 1));
    for (std::size_t i = 0; i < kKValues; ++i) {
      const float step = d * std::nearbyint(scale[i / kSub] * inverse(d));
      const float below = dmin * std::nearbyint(minimum[i / kSub] * inverse(dmin));
      const float q = std::clamp(std::nearbyint((x[block + i] + below) * inverse(step)), -1.0F * f.zero,
                                 static_cast<float>(f.top - f.zero));
      out[block + i] = step * q - below;
    }
  }
  return out;
}

// The largest error of a value in levels of its block: half a level, where the grid clips an extreme two more.
constexpr double kMostLevels = 2.5;

template <class F>
void expect_good_encoder() {
  constexpr KFormat f = F::kSearch;
  SCOPED_TRACE(F::kInfo.name);
  TestContext context(2);
  for (const std::vector<float>& x : random_rows(256 * 80)) {
    const std::vector<float> once = round_trip(context, F::kInfo.name, x);
    const double error = rms_error(once, x);
    EXPECT_LT(error, rms_error(nearest_round_trip<f>(x), x));
    for (std::size_t block = 0; block < x.size(); block += kKValues) {
      const auto [low, high] = std::minmax_element(x.begin() + block, x.begin() + block + kKValues);
      const double reach = f.minimum_top > 0 ? double{*high} - std::min(*low, 0.0F)
                                             : 2 * std::max(std::fabs(double{*low}), std::fabs(double{*high}));
      for (std::size_t i = block; i < block + kKValues; ++i)
        ASSERT_LE(std::fabs(double{once[i]} - double{x[i]}), kMostLevels * reach / f.top) << i;
    }
    // What was decoded lies on a grid of levels, and the search finds one at least near to it: again costs less than
    // once.
    EXPECT_LT(rms_error(round_trip(context, F::kInfo.name, once), once), error / 2);
  }
}

TEST(Formats, KEncodersBeatTheNearestLevels) {
  expect_good_encoder<Q2_K>();
  expect_good_encoder<Q3_K>();
  expect_good_encoder<Q4_K>();
  expect_good_encoder<Q5_K>();
  expect_good_encoder<Q6_K>();
}

TEST(Formats, DecodedValuesEncodeToTheSameBytes) {
  TestContext context(2);
  for (const std::vector<float>& x : random_rows(256 * 80))
    for (const char* type : {"F32", "F16", "BF16", "Q4_0", "Q5_0", "Q8_0"}) {  // their largest level is exact
      SCOPED_TRACE(type);
      const EncodeResult first = encode(context, type, x);
      const auto bytes = first.data.as<std::uint8_t>();
      const EncodeResult second = encode(context, type, decode(type, bytes).values);
      const auto again = second.data.as<std::uint8_t>();
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), again.begin(), again.end()));
    }
}

TEST(Formats, EdgesRoundTrip) {
  TestContext context;
  for (const Format& f : formats()) {
    if (f.encode == nullptr) continue;
    SCOPED_TRACE(f.info.name);
    std::vector<float> x(256);
    EXPECT_EQ(round_trip(context, f.info.name, x), x) << "zeros";
    x[77] = 1;
    EXPECT_NEAR(round_trip(context, f.info.name, x)[77], 1, 0.07) << "a spike";
    EXPECT_EQ(round_trip(context, f.info.name, x)[200], 0) << "beside a spike";
    for (const float constant : {0.75F, -0.75F}) {
      std::fill(x.begin(), x.end(), constant);
      for (const float y : round_trip(context, f.info.name, x)) EXPECT_NEAR(y, constant, 1e-3) << "constants";
    }
    std::fill(x.begin(), x.end(), 60000.0F);  // a scale that f16 holds in every format
    for (const float y : round_trip(context, f.info.name, x)) EXPECT_NEAR(y, 60000, 150) << "large";
    std::fill(x.begin(), x.end(), 1e-41F);
    x[3] = -1e-41F;
    for (const float y : round_trip(context, f.info.name, x)) EXPECT_LE(std::fabs(y), 1.01e-41F) << "subnormals";
  }
}

TEST(Formats, ValuesThatDoNotFitAreRefusedByTheirIndex) {
  for (const int threads : {1, 3}) {
    TestContext context(threads);
    for (const Format& f : formats()) {
      if (f.encode == nullptr) continue;
      SCOPED_TRACE(f.info.name);
      std::vector<float> x(256 * 100, 1.0F);
      std::vector<std::uint8_t> out(x.size() * 4);
      EXPECT_EQ(encode_blocks(context, f, x, out), x.size());
      const float infinity = std::numeric_limits<float>::infinity();
      std::vector<float> misfits{std::nanf(""), infinity, -infinity};
      if (f.info.name != "F32") misfits.push_back(3.402e38F);
      if (f.info.name != "F32" && f.info.name != "BF16") misfits.push_back(3e9F);  // its scale is no f16
      for (const float bad : misfits) {
        x[20011] = x[25000] = bad;
        const EncodeResult r = encode(context, f.info.name, x);
        EXPECT_EQ(r.status, kValueOutOfRange) << bad;
        EXPECT_EQ(r.n + r.data.elements(), 0);
        EXPECT_EQ(encode_blocks(context, f, x, out), 20011) << bad;
      }
    }
  }
}

TEST(Formats, Refusals) {
  TestContext context;
  const std::vector<float> values(33);
  EXPECT_EQ(encode(context, "Q8_0", values).status, kDataLengthMismatch);
  EXPECT_EQ(encode(context, "Q4_K", values).status, kDataLengthMismatch);
  EXPECT_EQ(encode(context, "Q8_0", {}).status, kEmptyDimension);
  EXPECT_EQ(encode(context, "Q9_9", values).status, kUnknownFormat);
  EXPECT_EQ(encode(context, "IQ4_XS", values).status, kNoEncoder);
  EXPECT_EQ(encode(context, "Q8_K", values).status, kNoEncoder);
  EXPECT_EQ(encode(context, "I8", values).status, kNoEncoder);

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
