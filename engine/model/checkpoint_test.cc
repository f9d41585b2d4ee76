#include "engine/model/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/model/tiny_model.h"

namespace krt::engine {
namespace {

using testing::Edits;
using testing::TinyModel;

constexpr const char* kLlama = "model/llama_gqa.gguf";
constexpr const char* kGemma = "model/gemma3_window.gguf";

const auto kLeftOut = [](GgufWriter&) {};
auto key(std::string name, auto value) {
  return [=](GgufWriter& out) { out.add(name, value); };
}
// An f32 tensor of ones.
auto ones(std::string name, std::vector<std::int64_t> dims) {
  std::size_t n = 1;
  for (const std::int64_t dim : dims) n *= static_cast<std::size_t>(dim);
  auto bytes = std::make_shared<std::vector<std::uint8_t>>(4 * n);
  for (std::size_t i = 0; i < n; ++i) {
    (*bytes)[4 * i + 2] = 0x80;
    (*bytes)[4 * i + 3] = 0x3F;
  }
  return [=](GgufWriter& out) { out.tensor(name, 0, dims, *bytes); };
}

// The refusal without the path in front of it; "" where there is none.
std::string refusal(const char* file, const Edits& edits) {
  const TinyModel model(file, edits);
  const auto opened = model.open();
  if (opened.ok()) return "";
  EXPECT_EQ(opened.status().reason(), Reason::kInvalidArguments);
  const std::string& text = opened.status().message();
  const std::string path = krt::quoted(model.path()) + ": ";
  EXPECT_TRUE(text.starts_with(path)) << text;
  return text.substr(std::min(text.size(), path.size()));
}

TEST(CheckpointConfig, IsWhatTheMetadataSays) {
  const TinyModel model(kLlama);
  const auto opened = model.open();
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const ModelConfig& c = (*opened)->config;
  EXPECT_EQ(c.architecture->name, "llama");
  EXPECT_EQ(c.layers, 2);
  EXPECT_EQ(c.width, 24);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim, 8);
  EXPECT_EQ(c.ff, 40);
  EXPECT_EQ(c.vocab, 48);
  EXPECT_EQ(c.context, 64);
  EXPECT_EQ(c.window_of(0), 0);
  EXPECT_EQ(c.attention_scale, 1 / std::sqrt(8.0));
  EXPECT_FALSE((*opened)->tied());
}

TEST(CheckpointConfig, GemmaHasWindowsAndTwoBases) {
  const TinyModel model(kGemma);
  const auto opened = model.open();
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const ModelConfig& c = (*opened)->config;
  EXPECT_EQ(c.window_of(0), 5);
  EXPECT_EQ(c.window_of(1), 5);
  EXPECT_EQ(c.window_of(2), 0);
  EXPECT_EQ(c.rope_of(0).theta, 10000);
  EXPECT_EQ(c.rope_of(2).theta, c.rope.theta);
  EXPECT_EQ(c.embedding_scale, std::sqrt(24.0));
  EXPECT_TRUE((*opened)->tied());
}

TEST(CheckpointConfig, AContextOfTwoToThe31IsAccepted) {
  EXPECT_EQ(refusal(kLlama, {.keys = {{"llama.context_length", key("llama.context_length", 0x80000000U)}}}), "");
}

TEST(CheckpointRefusals, NameTheKeyAndWhatIsTaken) {
  const auto number = [](const char* name, auto value) {
    return refusal(kLlama, {.keys = {{name, key(name, value)}}});
  };
  EXPECT_EQ(number("general.architecture", std::string_view("mamba")),
            "key 'general.architecture' is 'mamba', which krt cannot run; it runs llama, qwen2, qwen3, gemma3");
  EXPECT_EQ(refusal(kLlama, {.keys = {{"general.architecture", kLeftOut}}}), "key 'general.architecture' is missing");
  EXPECT_EQ(number("llama.block_count", 0U), "key 'llama.block_count' is 0, must be 1 to 1024");
  EXPECT_EQ(number("llama.block_count", 1000000U), "key 'llama.block_count' is 1000000, must be 1 to 1024");
  EXPECT_EQ(number("llama.attention.head_count", 0U), "key 'llama.attention.head_count' is 0, must be 1 to 1024");
  EXPECT_EQ(number("llama.attention.head_count", 5U),
            "key 'llama.attention.head_count' is 5, must be a multiple of the 2 KV heads");
  EXPECT_EQ(number("llama.attention.head_count_kv", 3U),
            "key 'llama.attention.head_count' is 4, must be a multiple of the 3 KV heads");
  EXPECT_EQ(number("llama.attention.layer_norm_rms_epsilon", 0.0F),
            "key 'llama.attention.layer_norm_rms_epsilon' is 0, must be finite and above 0");
  EXPECT_EQ(number("llama.attention.layer_norm_rms_epsilon", NAN),
            "key 'llama.attention.layer_norm_rms_epsilon' is nan, must be finite and above 0");
  EXPECT_EQ(number("llama.rope.freq_base", -1.0F), "key 'llama.rope.freq_base' is -1, must be finite and above 0");
  EXPECT_EQ(number("llama.rope.scaling.type", std::string_view("yarn")),
            "key 'llama.rope.scaling.type' is 'yarn', which krt does not know; it knows none, linear, and the factors "
            "of tensor 'rope_freqs.weight'");
  EXPECT_EQ(number("llama.attention.key_length", 7U), "a head has 7 values, must have an even number of 2 to 1024");
  EXPECT_EQ(number("llama.attention.value_length", 16U),
            "key 'llama.attention.value_length' must be the head dimension, 8");
  EXPECT_EQ(number("llama.expert_count", 8U), "key 'llama.expert_count' asks for something that krt does not have");
  EXPECT_EQ(number("llama.embedding_length", std::string_view("24")),
            "key 'llama.embedding_length' must be an integer that fits 63 bits, is string");
  EXPECT_EQ(number("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"}),
            "key 'tokenizer.ggml.tokens' has 2 entries, tensor 'token_embd.weight' has 48 rows");
  EXPECT_EQ(refusal(kGemma, {.keys = {{"gemma3.attention.sliding_window", kLeftOut}}}),
            "key 'gemma3.attention.sliding_window' is missing");
}

TEST(CheckpointRefusals, NameTheTensor) {
  const auto tensor = [](const char* name, auto write) { return refusal(kLlama, {.tensors = {{name, write}}}); };
  EXPECT_EQ(tensor("token_embd.weight", kLeftOut), "tensor 'token_embd.weight' is missing");
  EXPECT_EQ(tensor("blk.1.attn_k.weight", kLeftOut), "tensor 'blk.1.attn_k.weight' is missing; a llama model needs it");
  EXPECT_EQ(tensor("blk.1.attn_k.weight", ones("blk.1.attn_k.weight", {24, 24})),
            "tensor 'blk.1.attn_k.weight' is 24 x 24, must be 16 x 24 by the metadata");
  EXPECT_EQ(tensor("output_norm.weight", ones("output_norm.weight", {24, 1})),
            "tensor 'output_norm.weight' is 1 x 24, must be 24 by the metadata");
  EXPECT_EQ(tensor("blk.0.attn_q_norm.weight", ones("blk.0.attn_q_norm.weight", {8})),
            "tensor 'blk.0.attn_q_norm.weight' is none that krt knows in a llama model");
  EXPECT_EQ(tensor("rope_freqs.weight", ones("rope_freqs.weight", {8})),
            "tensor 'rope_freqs.weight' must be 4 values of F32");
  // F64 can be listed and read, but no mat-vec takes it.
  const std::vector<std::uint8_t> zeros(std::size_t{8} * 24 * 32);
  EXPECT_EQ(tensor("blk.0.attn_q.weight",
                   [&](GgufWriter& out) {
                     out.tensor("blk.0.attn_q.weight", 28, std::vector<std::int64_t>{24, 32}, zeros);
                   }),
            "tensor 'blk.0.attn_q.weight' is F64, a format without a mat-vec");
  // A control: the same way of writing, with the right shape, is accepted.
  EXPECT_EQ(tensor("blk.1.attn_k.weight", ones("blk.1.attn_k.weight", {24, 16})), "");
}

}  // namespace
}  // namespace krt::engine
