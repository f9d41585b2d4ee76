#include "engine/model/model.h"

#include <gtest/gtest.h>

#include "engine/model/tiny_model.h"
#include "runtime/testing/test_context.h"
#include "runtime/testing/tolerance.h"

namespace krt::engine {
namespace {

using decode::CacheFormat;
using krt::testing::fixture;
using krt::testing::FixtureCase;
using krt::testing::same_bits;
using krt::testing::TestContext;
using testing::TinyModel;

using Load = std::shared_ptr<Model> (*)(Context&, const TinyModel&);
std::shared_ptr<Model> reference(Context&, const TinyModel& file) {
  return load_reference(file.open().value()).value();
}
std::shared_ptr<Model> fast(Context& context, const TinyModel& file) {
  return load_fast(context, file.open().value()).value();
}

// The logits after every token, as doubles, one row behind the other.
std::vector<double> walk(Context& context, const Model& model, std::span<const std::int64_t> ids,
                         const SequenceOptions& options) {
  std::vector<double> out;
  const std::unique_ptr<Sequence> sequence = model.start(context, options).value();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Status read = sequence->read(context, ids.subspan(i, 1));
    EXPECT_TRUE(read.ok()) << read.message();
    const Tensor logits = sequence->logits();
    for (const double x : logits.as<double>()) out.push_back(x);
    for (const float x : logits.as<float>()) out.push_back(double{x});
  }
  return out;
}

// The largest distance, as a share of the largest logit of the row.
double worst(const std::vector<double>& got, const std::vector<double>& want, std::size_t vocab) {
  EXPECT_EQ(got.size(), want.size());
  double out = got.size() == want.size() ? 0 : HUGE_VAL;
  for (std::size_t row = 0; row < want.size() && out < HUGE_VAL; row += vocab) {
    double largest = 0, error = 0;
    for (std::size_t i = row; i < row + vocab; ++i) {
      largest = std::max(largest, std::fabs(want[i]));
      error = std::max(error, std::isnan(got[i]) ? HUGE_VAL : std::fabs(got[i] - want[i]));
    }
    out = std::max(out, error / largest);
  }
  return out;
}

struct Path {
  Load load;
  CacheFormat cache;
  double bound;
};
const Path kReference{reference, CacheFormat::kF16, 1e-12};
const Path kFast{fast, CacheFormat::kF32, 1e-5};

TEST(ModelLogits, AreThoseOfTransformers) {
  for (const FixtureCase& c : fixture("model")) {
    SCOPED_TRACE(c.name());
    const TinyModel file(c.text("file"));
    for (const Path& path : {kReference, kFast}) {
      TestContext context;
      const auto model = path.load(context, file);
      const auto got = walk(context, *model, c.i64s("ids"), {.capacity = 12, .cache = path.cache});
      EXPECT_LE(worst(got, c.f64s("logits"), static_cast<std::size_t>(c.integer("vocab"))), path.bound);
    }
  }
}

// One weight changed by its last bit must show in f64, and one by a thousandth in f32.
TEST(ModelLogits, ControlAChangedWeightIsNoticed) {
  const FixtureCase c = fixture("model").front();
  const std::string text = krt::testing::fixture_bytes(c.text("file"));
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  const Gguf gguf = Gguf::parse(bytes, "control").value();
  const GgufTensor& original = *gguf.tensor("blk.0.ffn_up.weight");
  for (const auto& [path, change] : {std::pair{kReference, 1.0F + 0x1p-23F}, std::pair{kFast, 1.001F}}) {
    std::vector<float> values = decoded(original);
    for (float& v : values) v *= change;
    const std::span<const std::uint8_t> changed(reinterpret_cast<const std::uint8_t*>(values.data()),
                                                4 * values.size());
    const TinyModel file(c.text("file"), {.tensors = {{"blk.0.ffn_up.weight", [&](GgufWriter& out) {
                                                         out.tensor(original.name, 0, original.dims, changed);
                                                       }}}});
    TestContext context;
    const auto model = path.load(context, file);
    const auto got = walk(context, *model, c.i64s("ids"), {.capacity = 12, .cache = path.cache});
    EXPECT_GT(worst(got, c.f64s("logits"), static_cast<std::size_t>(c.integer("vocab"))), path.bound);
  }
}

// 40 tokens: several chunks, and positions past every window.
std::vector<std::int64_t> forty_ids() {
  std::vector<std::int64_t> ids(40);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i * 31 % 48);
  return ids;
}

Tensor last_logits(Context& context, const Model& model, const SequenceOptions& options,
                   std::unique_ptr<Sequence>& sequence) {
  sequence = model.start(context, options).value();
  const Status read = sequence->read(context, forty_ids());
  EXPECT_TRUE(read.ok()) << read.message();
  return sequence->logits();
}

TEST(ModelBits, DependOnNeitherThreadsNorChunks) {
  for (const FixtureCase& c : fixture("model")) {
    SCOPED_TRACE(c.name());
    const TinyModel file(c.text("file"));
    for (const Path& path : {kReference, kFast, Path{fast, CacheFormat::kF16, 0}}) {
      TestContext one(1);
      std::unique_ptr<Sequence> first, other;
      const auto model = path.load(one, file);
      const Tensor want = last_logits(one, *model, {.chunk = 1, .cache = path.cache}, first);
      for (const int threads : {1, 2, 4})
        for (const std::int64_t chunk : {1, 7, 32, 512}) {
          TestContext context(threads);
          const Tensor got = last_logits(context, *model, {.chunk = chunk, .cache = path.cache}, other);
          EXPECT_TRUE(got.dtype() == DType::kF64 ? same_bits(got.as<double>(), want.as<double>())
                                                 : same_bits(got.as<float>(), want.as<float>()))
              << threads << " threads, chunks of " << chunk;
        }
    }
  }
}

TEST(ModelRefusals, SayWhatASequenceTakes) {
  const TinyModel file("model/llama_gqa.gguf");
  for (const Load load : {reference, fast}) {
    TestContext context;
    const auto model = load(context, file);
    EXPECT_FALSE(model->start(context, {.capacity = -1}).ok());
    EXPECT_FALSE(model->start(context, {.capacity = kMaxContext + 1}).ok());
    const auto sequence = model->start(context, {.capacity = 3}).value();
    EXPECT_EQ(sequence->capacity(), 3);
    EXPECT_EQ(sequence->read(context, std::vector<std::int64_t>{}).message(), "there are no tokens to read");
    EXPECT_EQ(sequence->read(context, std::vector<std::int64_t>{1, 48}).message(),
              "token id 48 is outside the vocabulary, 0 to 47");
    EXPECT_EQ(sequence->read(context, std::vector<std::int64_t>{-1}).message(),
              "token id -1 is outside the vocabulary, 0 to 47");
    EXPECT_TRUE(sequence->read(context, std::vector<std::int64_t>{1, 2}).ok());
    const Status full = sequence->read(context, std::vector<std::int64_t>{3, 4});
    EXPECT_EQ(full.reason(), Reason::kResourceExhausted);
    EXPECT_EQ(full.message(), "the sequence has room for 3 tokens, 2 are read and 2 more do not fit");
  }
}

TEST(ModelRefusals, ACancelledCallStops) {
  const TinyModel file("model/llama_gqa.gguf");
  for (const Load load : {reference, fast}) {
    TestContext context;
    const auto model = load(context, file);
    const auto sequence = model->start(context, {}).value();
    const std::atomic<bool> cancelled{true};
    context.context.control.cancelled = &cancelled;
    EXPECT_EQ(sequence->read(context, std::vector<std::int64_t>{1}).reason(), Reason::kCancelled);
  }
}

}  // namespace
}  // namespace krt::engine
