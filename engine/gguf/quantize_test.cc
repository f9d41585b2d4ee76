#include "engine/gguf/quantize.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/gguf/writer.h"
#include "runtime/testing/fixture.h"
#include "runtime/testing/random.h"
#include "runtime/testing/temp_dir.h"
#include "runtime/testing/test_context.h"

namespace krt::engine {
namespace {

using krt::testing::TempDir;
using krt::testing::TestContext;
using Bytes = std::vector<std::uint8_t>;

const quant::Format& format(std::string_view name) { return *quant::format_named(name); }

Bytes bytes_of(std::span<const float> values) {
  Bytes out(values.size() * sizeof(float));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

Bytes read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes{std::istreambuf_iterator<char>(in), {}};
}

void write(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

// Tensors of every kind: matrices of 512 and 96 and 20 columns, a norm, a bias, a matrix that is no weight.
class Quantize : public ::testing::Test {
 protected:
  struct Made {
    const char* name;
    std::vector<std::int64_t> dims;
    Bytes data;
  };

  void SetUp() override { write_source(32); }

  void write_source(std::uint32_t alignment) {
    krt::testing::Rng rng(20261130);
    made_.clear();
    for (const auto& [name, columns, rows] : {std::tuple{"token_embd.weight", 512, 6},
                                              {"blk.0.attn_q.weight", 512, 40},
                                              {"blk.0.attn_k.weight", 96, 5},
                                              {"blk.0.attn_v.weight", 20, 3},
                                              {"blk.0.attn_norm.weight", 512, 0},
                                              {"blk.0.attn_q.bias", 5, 0},
                                              {"table", 512, 2},
                                              {"output.weight", 512, 6}}) {
      std::vector<std::int64_t> dims{columns};
      if (rows > 0) dims.push_back(rows);
      const auto values =
          rng.normals<float>(static_cast<std::size_t>(columns) * static_cast<std::size_t>(std::max(rows, 1)), 0.02);
      made_.push_back({name, dims, bytes_of(values)});
    }
    GgufWriter w(alignment);
    w.add("general.architecture", std::string_view("llama"));
    w.add("general.file_type", std::uint32_t{0});
    w.add("scores", std::vector<float>{0.5F, -1});
    for (const Made& m : made_) w.tensor(m.name, 0, m.dims, m.data);
    write(source(), w.finish());
  }

  [[nodiscard]] std::string source() const { return dir_.file("in.gguf"); }
  [[nodiscard]] std::string target() const { return dir_.file("out.gguf"); }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(dir_.path()), {}));
  }

  Result<std::uint64_t> run(Context& context, const QuantizeOptions& o, const std::string& to, bool overwrite = false) {
    const auto file = GgufFile::open(source());
    if (!file.ok()) return file.status();
    const auto plan = plan_quantize(**file, o);
    if (!plan.ok()) return plan.status();
    return quantize(context, **file, *plan, *o.weights, to, overwrite);
  }
  static QuantizeOptions all(std::string_view type) { return {&format(type), &format(type), &format(type)}; }

  // The type of every tensor, in the order of the file.
  static std::string types(const GgufFile& file) {
    std::string out;
    for (const GgufTensor* t : file.tensors()) out += std::string(t->format->info.name) + " ";
    return out;
  }

  TempDir dir_;
  std::vector<Made> made_;
};

TEST_F(Quantize, MatricesAreEncodedAndAllElseStays) {
  TestContext context(2);
  for (const std::uint32_t alignment : {32U, 256U}) {
    write_source(alignment);
    const auto size = run(context, all("Q4_K"), target(), true);
    ASSERT_TRUE(size.ok()) << size.status().message();
    EXPECT_EQ(*size, std::filesystem::file_size(target()));
    const auto file = GgufFile::open(target()).value();
    EXPECT_EQ(types(*file), "Q4_K Q4_K Q5_0 F16 F32 F32 F32 Q4_K ");
    EXPECT_EQ(file->header().alignment(), alignment);
    EXPECT_EQ(file->header().text("general.architecture").value(), "llama");
    EXPECT_EQ(file->header().numbers("scores").value(), (std::vector<double>{0.5, -1}));
    EXPECT_EQ(file->header().integer("general.file_type").value(), 14);
    EXPECT_EQ(file->header().integer("general.quantization_version").value(), 2);
    for (const Made& m : made_) {
      SCOPED_TRACE(m.name);
      const GgufTensor& t = *file->tensor(m.name);
      EXPECT_EQ(t.dims, m.dims);
      std::vector<float> values(m.data.size() / sizeof(float));
      std::memcpy(values.data(), m.data.data(), m.data.size());
      const auto want = quant::encode(context, t.format->info.name, values);
      const auto bytes = want.data.as<std::uint8_t>();
      EXPECT_TRUE(std::equal(t.data.begin(), t.data.end(), bytes.begin(), bytes.end()));
    }
  }
}

TEST_F(Quantize, EmbeddingAndOutputHaveTheirOwn) {
  TestContext context;
  ASSERT_TRUE(run(context, {&format("Q2_K"), &format("Q8_0"), &format("Q6_K")}, target()).ok());
  EXPECT_EQ(types(*GgufFile::open(target()).value()), "Q8_0 Q2_K Q4_0 F16 F32 F32 F32 Q6_K ");
}

TEST_F(Quantize, EveryFormatGivesWayToOneThatFits) {
  const std::pair<const char*, const char*> rows[] = {
      {"F32", "F32 F32"},   {"F16", "F16 F16"},   {"BF16", "BF16 BF16"}, {"Q4_0", "Q4_0 F16"}, {"Q4_1", "Q4_1 F16"},
      {"Q5_0", "Q5_0 F16"}, {"Q5_1", "Q5_1 F16"}, {"Q8_0", "Q8_0 F16"},  {"Q2_K", "Q4_0 F16"}, {"Q3_K", "Q4_0 F16"},
      {"Q4_K", "Q5_0 F16"}, {"Q5_K", "Q5_1 F16"}, {"Q6_K", "Q8_0 F16"}};
  const auto file = GgufFile::open(source()).value();
  std::size_t encoders = 0;
  for (const quant::Format& f : quant::formats()) encoders += f.encode != nullptr ? 1 : 0;
  EXPECT_EQ(encoders, std::size(rows));
  for (const auto& [type, of_96_and_20] : rows) {
    const auto plan = plan_quantize(*file, all(type)).value();
    EXPECT_EQ(plan[0].to, &format(type));
    EXPECT_EQ(std::string(plan[2].to->info.name) + " " + std::string(plan[3].to->info.name), of_96_and_20) << type;
    EXPECT_EQ(plan[4].to, plan[4].wanted);
  }
}

TEST_F(Quantize, TheSameBytesForEveryThreadCount) {
  TestContext one(1), many(16);
  ASSERT_TRUE(run(one, all("Q3_K"), dir_.file("one")).ok());
  ASSERT_TRUE(run(many, all("Q3_K"), dir_.file("many")).ok());
  EXPECT_EQ(read(dir_.file("one")), read(dir_.file("many")));
}

// A tensor of more than one piece, from blocks of 32 to blocks of 256.
TEST_F(Quantize, PiecesMakeTheWholeTensor) {
  TestContext context(2);
  const std::int64_t columns = 512, rows = 8200;  // 4.2 million values: one piece and 4096 values
  krt::testing::Rng rng(7);
  std::vector<float> values(static_cast<std::size_t>(columns * rows));
  for (float& x : values) x = static_cast<float>(rng.uniform(-1, 1));
  const auto q8 = quant::encode(context, "Q8_0", values);
  const auto q8_bytes = q8.data.as<std::uint8_t>();
  GgufWriter w;
  w.tensor("a.weight", 8, std::vector{columns, rows}, q8_bytes);
  write(source(), w.finish());
  ASSERT_TRUE(run(context, all("Q6_K"), target()).ok());
  const auto want = quant::encode(context, "Q6_K", quant::decode("Q8_0", q8_bytes).values);
  const auto bytes = want.data.as<std::uint8_t>();
  const auto file = GgufFile::open(target()).value();
  const GgufTensor& t = *file->tensor("a.weight");
  EXPECT_TRUE(std::equal(t.data.begin(), t.data.end(), bytes.begin(), bytes.end()));
}

TEST_F(Quantize, WhatIsThereStaysUnlessForced) {
  TestContext context;
  write(target(), {1, 2, 3});
  EXPECT_EQ(run(context, all("Q8_0"), target()).status().message(),
            "'" + target() + "' exists; to write over it has to be asked for (--force)");
  EXPECT_EQ(read(target()), (Bytes{1, 2, 3}));
  EXPECT_TRUE(run(context, all("Q8_0"), target(), true).ok());
  EXPECT_EQ(run(context, all("Q8_0"), dir_.path(), true).status().message(),
            "'" + dir_.path() + "' is no regular file");
  // The source is open while it is replaced.
  const Bytes other = read(target());
  EXPECT_TRUE(run(context, all("Q8_0"), source(), true).ok());
  EXPECT_EQ(read(source()), other);
  EXPECT_EQ(files(), 2U);
}

TEST_F(Quantize, AValueThatDoesNotFitIsNamedAndLeavesNothing) {
  TestContext context;
  std::memcpy(made_[1].data.data() + 4 * 700, "\0\0\xC0\x7F", 4);  // NaN
  GgufWriter w;
  for (const Made& m : made_) w.tensor(m.name, 0, m.dims, m.data);
  write(source(), w.finish());
  EXPECT_EQ(run(context, all("Q5_K"), target()).status().message(),
            "tensor 'blk.0.attn_q.weight': value 700 is nan, which Q5_K cannot hold");
  EXPECT_EQ(files(), 1U);
}

TEST_F(Quantize, ACancelledCallLeavesNothing) {
  TestContext context;
  const std::atomic<bool> cancelled = true;
  context.context.control.cancelled = &cancelled;
  EXPECT_THROW((void)run(context, all("Q5_K"), target()), StatusError);
  EXPECT_EQ(files(), 1U);
  EXPECT_FALSE(run(context, all("Q5_K"), dir_.file("no/such/folder")).ok());
}

TEST_F(Quantize, WhatCannotBeDecodedIsNamed) {
  GgufWriter w;
  const Bytes block(292);
  w.tensor("a.weight", 15, std::vector<std::int64_t>{256, 1}, block);
  write(source(), w.finish());
  TestContext context;
  EXPECT_EQ(run(context, all("Q4_0"), target()).status().message(), "tensor 'a.weight': krt has no decoder for Q8_K");
}

TEST_F(Quantize, ShardsBecomeOneFile) {
  for (std::uint32_t i = 0; i < 2; ++i) {
    GgufWriter w;
    w.add("split.no", i);
    w.add("split.count", std::uint32_t{2});
    w.add("split.tensors.count", std::uint32_t{2});
    w.tensor(made_[i].name, 0, made_[i].dims, made_[i].data);
    write(dir_.file("m-0000" + std::to_string(i + 1) + "-of-00002.gguf"), w.finish());
  }
  TestContext context;
  const auto file = GgufFile::open(dir_.file("m-00002-of-00002.gguf")).value();
  const auto plan = plan_quantize(*file, all("Q4_K")).value();
  ASSERT_TRUE(quantize(context, *file, plan, format("Q4_K"), target(), false).ok());
  const auto one = GgufFile::open(target()).value();
  EXPECT_EQ(one->shard_count(), 1U);
  EXPECT_EQ(one->header().find("split.count"), nullptr);
  EXPECT_EQ(types(*one), "Q4_K Q4_K ");
}

}  // namespace
}  // namespace krt::engine
