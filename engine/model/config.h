#pragma once
// ModelConfig: what a model file's metadata says the network is, checked.
//
// One description serves every architecture: the network of docs/numerics.md with parts that are there or not. What an
// architecture brings of its own is a row of a table (config.cc), not a loop.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf/gguf.h"

namespace krt::engine {

enum class Part : std::uint8_t { kAbsent, kOptional, kRequired };
enum class Gate : std::uint8_t { kSilu, kGeluTanh };

struct Architecture {
  std::string_view name;  // general.architecture
  bool interleaved_rope;  // pairs of neighbours (GGUF files of llama have their rows in that order); else halves
  Part qkv_bias;
  Part qk_norm;           // RMSNorm of every head of q and k, before RoPE
  bool post_norms;        // RMSNorm of what attention and feed-forward return, before the residual add
  bool scaled_embedding;  // embeddings times sqrt(width)
  bool windows;           // layers with a sliding window between those without
  Gate gate;
};

// What krt runs: "llama, qwen2, qwen3, gemma3".
std::string supported_architectures();

inline constexpr std::int64_t kMaxLayers = 1024;
inline constexpr std::int64_t kMaxHeads = 1024;
inline constexpr std::int64_t kMaxHeadDim = 1024;
inline constexpr std::int64_t kMaxWidth = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxContext = std::int64_t{1} << 24;  // positions that the kernels take

// Angles of one kind of layer: pair i turns by pos * theta^(-2 i / head_dim) / factors[i].
struct Rope {
  double theta = 10000;
  std::vector<double> factors;  // head_dim / 2
};

struct ModelConfig {
  const Architecture* architecture = nullptr;
  std::string name;  // general.name, or the architecture's
  std::int64_t layers = 0, width = 0, heads = 0, kv_heads = 0, head_dim = 0, ff = 0, vocab = 0;
  std::int64_t context = 0;  // positions that the model was made for, at most kMaxContext
  double eps = 0;
  double attention_scale = 0;  // of q . k
  double embedding_scale = 1;
  Rope rope;                 // of layers that see every position
  Rope local_rope;           // of layers with a window
  std::int64_t window = 0;   // positions that a layer with a window sees, its own among them; 0: no such layer
  std::int64_t pattern = 1;  // every pattern-th layer sees all

  [[nodiscard]] std::int64_t q_width() const { return heads * head_dim; }
  [[nodiscard]] std::int64_t kv_width() const { return kv_heads * head_dim; }
  // 0: the layer sees every position before its own.
  [[nodiscard]] std::int64_t window_of(std::int64_t layer) const { return (layer + 1) % pattern == 0 ? 0 : window; }
  [[nodiscard]] const Rope& rope_of(std::int64_t layer) const { return window_of(layer) == 0 ? rope : local_rope; }
};

// `path` stands in front of every refusal, which names the key or tensor and says what krt takes.
Result<ModelConfig> read_config(const GgufFile& file, const std::string& path);

}  // namespace krt::engine
