#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/gguf/writer.h"
#include "modules/builtin.h"
#include "runtime/testing/value_check.h"

namespace krt::engine {
namespace {

class GgufFunctions : public ::testing::Test {
 protected:
  GgufFunctions()
      : path_(std::filesystem::temp_directory_path() / ("krt_functions_" + std::to_string(getpid()) + ".gguf")) {
    GgufWriter w;
    w.add("general.architecture", std::string_view("llama"));
    w.add("scores", std::vector<float>(100, 0.5F));
    w.add("tokens", std::vector<std::string>{"a", "b"});
    const std::vector<std::int64_t> dims{2, 3};
    // 1, 2, 3, 4, 5, 6 in f16
    const std::vector<std::uint8_t> halves{0, 0x3C, 0, 0x40, 0, 0x42, 0, 0x44, 0, 0x45, 0, 0x46};
    w.tensor("t", 1, dims, halves);
    const std::vector<std::uint8_t> file = w.finish();
    std::ofstream(path_, std::ios::binary).write(reinterpret_cast<const char*>(file.data()), std::ssize(file));
  }
  ~GgufFunctions() override { std::filesystem::remove(path_); }

  ExecuteResult call(const char* function, List args) {
    return runtime_.execute("gguf", function, Value(std::move(args)));
  }
  Handle open() { return *call("open", {Value(path_.string())}).result["handle"].get_if<Handle>(); }

  std::filesystem::path path_;
  Runtime runtime_{builtin_registry(), {.threads = 1}};
};

TEST_F(GgufFunctions, OpenTellsWhatIsInTheFile) {
  testing::ValueCheck check("gguf.open");
  const ExecuteResult r = call("open", {Value(path_.string())});
  ASSERT_TRUE(r.success()) << r.error.message();
  EXPECT_EQ(*r.result["version"].get_if<std::int64_t>(), 3);
  EXPECT_EQ(*r.result["keys"].get_if<std::int64_t>(), 3);
  EXPECT_EQ(*r.result["tensors"].get_if<std::int64_t>(), 1);
  EXPECT_EQ(*r.result["shards"].get_if<std::int64_t>(), 1);
}

TEST_F(GgufFunctions, MetadataDescribesLongArrays) {
  testing::ValueCheck check("gguf.metadata");
  const ExecuteResult r = call("metadata", {Value(open())});
  ASSERT_TRUE(r.success()) << r.error.message();
  EXPECT_EQ(*r.result["general.architecture"].get_if<std::string>(), "llama");
  EXPECT_EQ(*r.result["scores"]["count"].get_if<std::int64_t>(), 100);
  EXPECT_EQ(*r.result["scores"]["type"].get_if<std::string>(), "array of f32");
  EXPECT_EQ(r.result["tokens"].get_if<List>()->size(), 2U);
  const ExecuteResult whole = call("metadata", {Value(open()), Value(0)});
  EXPECT_EQ(whole.result["scores"].get_if<Tensor>()->elements(), 100);
}

TEST_F(GgufFunctions, TensorsAndTheirValues) {
  testing::ValueCheck list_check("gguf.tensors"), read_check("gguf.read");
  const ExecuteResult tensors = call("tensors", {Value(open())});
  ASSERT_TRUE(tensors.success()) << tensors.error.message();
  const Value& t = tensors.result.get_if<List>()->front();
  EXPECT_EQ(*t["type"].get_if<std::string>(), "F16");
  EXPECT_TRUE(identical(t["shape"], Value(std::vector<std::int64_t>{3, 2})));
  const ExecuteResult values = call("read", {Value(open()), Value("t")});
  ASSERT_TRUE(values.success()) << values.error.message();
  Tensor want = Tensor::own(std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(identical(values.result, Value(want.reshaped(Shape{3, 2}))));
}

TEST_F(GgufFunctions, RefusalsNameTheArgument) {
  const Handle gguf = open();
  EXPECT_EQ(call("read", {Value(gguf), Value("missing")}).error.message(),
            "argument 'tensor': the file has no tensor 'missing'");
  const Handle other = runtime_.put(Value(1)).value();
  EXPECT_EQ(call("tensors", {Value(other)}).error.message(),
            "argument 'gguf' must be a handle of gguf.open, names int");
  ASSERT_TRUE(runtime_.free(gguf).ok());
  EXPECT_EQ(call("tensors", {Value(gguf)}).error.reason(), Reason::kHandleNotFound);
  EXPECT_EQ(call("open", {Value("/nowhere.gguf")}).error.reason(), Reason::kInvalidArguments);
}

}  // namespace
}  // namespace krt::engine
