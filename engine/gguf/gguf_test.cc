#include "engine/gguf/gguf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/gguf/writer.h"
#include "runtime/testing/random.h"

namespace krt::engine {
namespace {

using Bytes = std::vector<std::uint8_t>;

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

const std::vector<std::int64_t> kRow{4};
const Bytes kFourFloats = bytes_of<float>({1, 2, 3, 4});

GgufWriter sound() {
  GgufWriter w;
  w.add("general.architecture", std::string_view("llama"));
  w.add("llama.block_count", std::uint32_t{2});
  w.add("llama.eps", 1e-5F);
  w.add("flag", true);
  w.add("tokens", std::vector<std::string>{"a", "", "\xff"});
  w.add("scores", std::vector<float>{0.5F, -1});
  w.add("types", std::vector<std::int32_t>{1, -2});
  w.tensor("first", 0, kRow, kFourFloats);
  w.tensor("second", 0, kRow, kFourFloats);
  return w;
}

Result<Gguf> parse(const Bytes& file) { return Gguf::parse(file, "test"); }

TEST(Gguf, ReadsWhatTheWriterWrote) {
  const Bytes file = sound().finish();
  const Result<Gguf> g = parse(file);
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(g->version(), 3U);
  EXPECT_EQ(g->text("general.architecture").value(), "llama");
  EXPECT_EQ(g->integer("llama.block_count").value(), 2);
  EXPECT_EQ(g->number("llama.eps").value(), static_cast<double>(1e-5F));
  EXPECT_EQ(g->number("llama.block_count").value(), 2.0);
  EXPECT_TRUE(g->flag("flag").value());
  EXPECT_EQ(g->texts("tokens").value(), (std::vector<std::string_view>{"a", "", "\xff"}));
  EXPECT_EQ(g->numbers("scores").value(), (std::vector<double>{0.5, -1}));
  EXPECT_EQ(g->numbers("types").value(), (std::vector<double>{1, -2}));
  ASSERT_EQ(g->tensors().size(), 2U);
  EXPECT_EQ(g->tensor("second")->elements(), 4);
  EXPECT_EQ(g->tensor("second")->data.size(), 16U);
  EXPECT_EQ(std::memcmp(g->tensor("second")->data.data(), kFourFloats.data(), 16), 0);
  EXPECT_EQ(g->tensor("third"), nullptr);
}

TEST(Gguf, GettersRefuseByName) {
  const Bytes file = sound().finish();
  const Result<Gguf> g = parse(file);
  EXPECT_EQ(g->integer("missing").status().message(), "test: key 'missing' is missing");
  EXPECT_EQ(g->integer("flag").status().message(), "test: key 'flag' must be an integer that fits 63 bits, is bool");
  EXPECT_EQ(g->text("tokens").status().message(), "test: key 'tokens' must be a string, is array of string");
  EXPECT_EQ(g->texts("scores").status().message(), "test: key 'scores' must be an array of string, is array of f32");
  EXPECT_EQ(g->numbers("tokens").status().message(),
            "test: key 'tokens' must be an array of numbers, is array of string");
}

// A file that is cut anywhere is refused, and nothing is read past its end (the bytes are an allocation of their own).
TEST(Gguf, EveryTruncationIsRefused) {
  const Bytes whole = sound().finish();
  const std::size_t needed = whole.size() - (32 - 16);  // the last tensor's padding may be missing
  for (std::size_t n = 0; n < needed; ++n) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_FALSE(parse(cut).ok()) << n;
  }
  EXPECT_TRUE(parse(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(needed))).ok());
}

TEST(Gguf, NoByteFlipCrashes) {
  const Bytes whole = sound().finish();
  testing::Rng rng(7);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes changed = whole;
    changed[i] ^= static_cast<std::uint8_t>(rng.integer(1, 255));
    const Result<Gguf> g = parse(changed);
    EXPECT_EQ(g.ok(), g.status().message().empty());
  }
}

Bytes u64_bytes(std::uint64_t x) { return bytes_of<std::uint64_t>({x}); }
Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Refusal {
  const char* what;
  void (*build)(GgufWriter&);
  const char* sentence;
};

TEST(Gguf, CraftedFilesAreRefusedByName) {
  static const std::vector<std::int64_t> kZero{0}, kNegative{-4}, kHuge{(std::int64_t{1} << 42) + 1}, kNone{},
      kFive{1, 1, 1, 1, 1}, kWraps{std::int64_t{1} << 40, std::int64_t{1} << 40}, kThirtyOne{31};
  const Refusal rows[] = {
      {"a zero dimension", [](GgufWriter& w) { w.tensor("t", 0, kZero, {}); },
       "tensor 't' has dimension 0, must be 1 to 2^42"},
      {"a negative dimension", [](GgufWriter& w) { w.tensor("t", 0, kNegative, {}); },
       "tensor 't' has dimension -4, must be 1 to 2^42"},
      {"a huge dimension", [](GgufWriter& w) { w.tensor("t", 0, kHuge, {}); },
       "tensor 't' has dimension 4398046511105, must be 1 to 2^42"},
      {"no dimension", [](GgufWriter& w) { w.tensor("t", 0, kNone, kFourFloats); },
       "tensor 't' has 0 dimensions, must be 1 to 4"},
      {"five dimensions", [](GgufWriter& w) { w.tensor("t", 0, kFive, kFourFloats); },
       "tensor 't' has 5 dimensions, must be 1 to 4"},
      {"a product that wraps", [](GgufWriter& w) { w.tensor("t", 0, kWraps, kFourFloats); },
       "tensor 't' is too large: the product of its dimensions does not fit 63 bits of bytes"},
      {"half a block", [](GgufWriter& w) { w.tensor("t", 8, kThirtyOne, kFourFloats); },
       "tensor 't' has rows of 31 values, no whole number of Q8_0 blocks"},
      {"an unknown type", [](GgufWriter& w) { w.tensor("t", 99, kRow, kFourFloats); },
       "tensor 't' has unknown or removed type 99"},
      {"a removed type", [](GgufWriter& w) { w.tensor("t", 4, kRow, kFourFloats); },
       "tensor 't' has unknown or removed type 4"},
      {"a tensor twice",
       [](GgufWriter& w) {
         w.tensor("t", 0, kRow, kFourFloats);
         w.tensor("t", 0, kRow, kFourFloats);
       },
       "tensor 't' is there twice"},
      {"an empty tensor name", [](GgufWriter& w) { w.tensor("", 0, kRow, kFourFloats); }, "tensor 0 has an empty name"},
      {"a key twice",
       [](GgufWriter& w) {
         w.add("k", true);
         w.add("k", true);
       },
       "key 'k' is there twice"},
      {"an empty key", [](GgufWriter& w) { w.add("", true); }, "key 0 is empty"},
      {"a key that is not UTF-8", [](GgufWriter& w) { w.add("k\xff\x1b", true); }, "key 'k\\xff\\x1b' is not UTF-8"},
      {"a bool of 2", [](GgufWriter& w) { w.raw("k", MetaType::kBool, Bytes{2}); },
       "key 'k' holds a bool that is neither 0 nor 1"},
      {"an unknown value type", [](GgufWriter& w) { w.raw("k", static_cast<MetaType>(77), Bytes{2}); },
       "key 'k' has unknown type 77"},
      {"an array of 2^60",
       [](GgufWriter& w) {
         w.raw("k", MetaType::kArray, Bytes{0, 0, 0, 0} + u64_bytes(std::uint64_t{1} << 60));
       },
       "the file ends inside key 'k'"},
      {"strings of 2^60",
       [](GgufWriter& w) {
         w.raw("k", MetaType::kArray, Bytes{8, 0, 0, 0} + u64_bytes(std::uint64_t{1} << 60));
       },
       "the file ends inside key 'k'"},
      {"a string past the end", [](GgufWriter& w) { w.raw("k", MetaType::kString, u64_bytes(~std::uint64_t{0})); },
       "the file ends inside key 'k'"},
      {"an alignment of 3", [](GgufWriter& w) { w.add("general.alignment", std::uint32_t{3}); },
       "key 'general.alignment' is 3, must be a power of two up to 1048576"},
      {"an alignment of 2^21", [](GgufWriter& w) { w.add("general.alignment", std::uint32_t{1} << 21); },
       "key 'general.alignment' is 2097152, must be a power of two up to 1048576"},
      {"an alignment that is no u32", [](GgufWriter& w) { w.add("general.alignment", 32.0F); },
       "key 'general.alignment' must be u32, is f32"},
  };
  for (const Refusal& row : rows) {
    GgufWriter w;
    row.build(w);
    const Bytes file = w.finish();
    const Result<Gguf> g = parse(file);
    ASSERT_FALSE(g.ok()) << row.what;
    EXPECT_TRUE(g.status().message().starts_with("test: " + std::string(row.sentence)))
        << row.what << ": " << g.status().message();
  }
}

TEST(Gguf, NestedArraysAreWalkedWithoutRecursion) {
  for (const int depth : {1, 15, 16, 17, 100000}) {
    Bytes nested;
    const Bytes level = Bytes{9, 0, 0, 0} + u64_bytes(1);
    for (int d = 1; d < depth; ++d) nested.insert(nested.end(), level.begin(), level.end());
    nested = nested + Bytes{0, 0, 0, 0} + u64_bytes(1) + Bytes{5};
    GgufWriter w;
    w.raw("k", MetaType::kArray, nested);
    w.add("after", true);
    const Bytes file = w.finish();
    const Result<Gguf> g = parse(file);
    EXPECT_EQ(g.ok(), depth <= 16) << depth;
    if (g.ok()) {
      EXPECT_TRUE(g->flag("after").value());
    }
  }
}

TEST(Gguf, UnusualButSoundFilesAreAccepted) {
  EXPECT_TRUE(parse(GgufWriter().finish()).ok());  // no keys, no tensors
  GgufWriter aligned(64);
  aligned.tensor("t", 0, kRow, kFourFloats);
  const Bytes file = aligned.finish();
  const Result<Gguf> g = parse(file);
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(g->tensor("t")->offset % 64, 0U);
  EXPECT_TRUE(parse(file + Bytes(1000, 7)).ok());  // trailing bytes
}

TEST(Gguf, OtherVersionsAreRefusedByName) {
  Bytes file = GgufWriter().finish();
  file[4] = 1;
  EXPECT_EQ(parse(file).status().message(), "test: is GGUF version 1; krt reads versions 2 and 3");
  file[4] = 0;
  file[7] = 3;
  EXPECT_EQ(parse(file).status().message(), "test: is a big-endian GGUF file; krt reads little-endian ones");
  file[0] = 'X';
  EXPECT_EQ(parse(file).status().message(), "test: is no GGUF file");
}

class GgufFiles : public ::testing::Test {
 protected:
  GgufFiles() : folder_(std::filesystem::temp_directory_path() / ("krt_gguf_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~GgufFiles() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const Bytes& bytes) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    return path;
  }
  Bytes shard(std::uint32_t number, std::uint32_t count, std::uint32_t tensors, const char* tensor) {
    GgufWriter w;
    w.add("split.no", number);
    w.add("split.count", count);
    w.add("split.tensors.count", tensors);
    w.tensor(tensor, 0, kRow, kFourFloats);
    return w.finish();
  }
  std::filesystem::path folder_;
};

TEST_F(GgufFiles, AnyShardOpensTheSet) {
  write("m-00001-of-00002.gguf", shard(0, 2, 2, "a"));
  const std::string second = write("m-00002-of-00002.gguf", shard(1, 2, 2, "b"));
  const auto file = GgufFile::open(second);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ((*file)->shard_count(), 2U);
  EXPECT_NE((*file)->tensor("a"), nullptr);
  EXPECT_NE((*file)->tensor("b"), nullptr);
}

TEST_F(GgufFiles, ShardsThatDisagreeAreRefused) {
  const std::string first = write("m-00001-of-00002.gguf", shard(0, 2, 2, "a"));
  EXPECT_FALSE(GgufFile::open(first).ok());  // the second is missing
  write("m-00002-of-00002.gguf", shard(0, 2, 2, "b"));
  EXPECT_NE(GgufFile::open(first).status().message().find("key 'split.no' is 0, the set of files says 1"),
            std::string::npos);
  write("m-00002-of-00002.gguf", shard(1, 2, 2, "a"));
  EXPECT_NE(GgufFile::open(first).status().message().find("is in two shards"), std::string::npos);
  write("m-00002-of-00002.gguf", shard(1, 2, 3, "b"));
  EXPECT_NE(GgufFile::open(first).status().message().find("key 'split.tensors.count' is 3, the set of files says 2"),
            std::string::npos);
}

TEST_F(GgufFiles, WhatIsNoRegularFileIsRefused) {
  EXPECT_NE(GgufFile::open(folder_).status().message().find("is no regular file"), std::string::npos);
  EXPECT_NE(GgufFile::open("/dev/null").status().message().find("is no regular file"), std::string::npos);
  EXPECT_NE(GgufFile::open(folder_ / "missing").status().message().find("cannot open"), std::string::npos);
  EXPECT_FALSE(GgufFile::open(write("empty", {})).ok());
}

TEST_F(GgufFiles, AFileThatShrinksWhileMappedIsReportedNotFatal) {
  GgufWriter w;
  const std::vector<std::int64_t> dims{1 << 20};
  const Bytes data(4 << 20, 1);
  w.tensor("t", 0, dims, data);
  const std::string path = write("shrinks.gguf", w.finish());
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->intact().ok());
  std::filesystem::resize_file(path, 4096);
  std::int64_t sum = 0;
  for (const std::uint8_t b : (*file)->tensor("t")->data) sum += b;
  EXPECT_LT(sum, 4 << 20);
  EXPECT_FALSE((*file)->intact().ok());
}

}  // namespace
}  // namespace krt::engine
