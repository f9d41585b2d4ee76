#include "engine/model/checkpoint.h"

#include <set>

namespace krt::engine {
namespace {

using TensorRef = Checkpoint::TensorRef;
using Layer = LayerOf<TensorRef, TensorRef>;

// What a tensor must look like; rows 0: a vector.
struct Wanted {
  std::string_view name;  // behind "blk.N." where it belongs to a layer
  Part part;
  std::int64_t rows, cols;
};

// In the order of Layer::kVectors and kMatrices.
struct LayerPlan {
  explicit LayerPlan(const ModelConfig& c)
      : vectors{{{"attn_norm.weight", Part::kRequired, 0, c.width},
                 {"attn_q.bias", c.architecture->qkv_bias, 0, c.q_width()},
                 {"attn_k.bias", c.architecture->qkv_bias, 0, c.kv_width()},
                 {"attn_v.bias", c.architecture->qkv_bias, 0, c.kv_width()},
                 {"attn_q_norm.weight", c.architecture->qk_norm, 0, c.head_dim},
                 {"attn_k_norm.weight", c.architecture->qk_norm, 0, c.head_dim},
                 {"post_attention_norm.weight", post(c), 0, c.width},
                 {"ffn_norm.weight", Part::kRequired, 0, c.width},
                 {"post_ffw_norm.weight", post(c), 0, c.width}}},
        matrices{{{"attn_q.weight", Part::kRequired, c.q_width(), c.width},
                  {"attn_k.weight", Part::kRequired, c.kv_width(), c.width},
                  {"attn_v.weight", Part::kRequired, c.kv_width(), c.width},
                  {"attn_output.weight", Part::kRequired, c.width, c.q_width()},
                  {"ffn_gate.weight", Part::kRequired, c.ff, c.width},
                  {"ffn_up.weight", Part::kRequired, c.ff, c.width},
                  {"ffn_down.weight", Part::kRequired, c.width, c.ff}}} {}
  static Part post(const ModelConfig& c) { return c.architecture->post_norms ? Part::kRequired : Part::kAbsent; }

  std::array<Wanted, Layer::kVectors.size()> vectors;
  std::array<Wanted, Layer::kMatrices.size()> matrices;
};

std::string shape_text(const std::vector<std::int64_t>& row_major) {
  std::string out;
  for (const std::int64_t dim : row_major) out += (out.empty() ? "" : " x ") + std::to_string(dim);
  return out;
}

class Binder {
 public:
  Binder(Checkpoint& checkpoint, const std::string& path) : out_(checkpoint), path_(path) {}

  Status run() {
    const ModelConfig& c = out_.config;
    out_.weights.embedding = find("", {"token_embd.weight", Part::kRequired, c.vocab, c.width});
    const LayerPlan plan(c);
    out_.weights.layers.resize(static_cast<std::size_t>(c.layers));
    for (std::size_t i = 0; i < out_.weights.layers.size() && refusal_.ok(); ++i)
      bind_layer(plan, "blk." + std::to_string(i) + ".", out_.weights.layers[i]);
    out_.weights.output_norm = find("", {"output_norm.weight", Part::kRequired, 0, c.width});
    out_.weights.output = find("", {"output.weight", Part::kOptional, c.vocab, c.width});
    if (out_.weights.output == nullptr) out_.weights.output = out_.weights.embedding;
    if (refusal_.ok()) refuse_unknown();
    return refusal_;
  }

 private:
  void refuse(const std::string& tensor, const std::string& text) {
    if (refusal_.ok()) refusal_ = invalid(quoted(path_) + ": tensor " + quoted(tensor) + " " + text);
  }

  void bind_layer(const LayerPlan& plan, const std::string& prefix, Layer& layer) {
    for (std::size_t i = 0; i < plan.vectors.size(); ++i) layer.*Layer::kVectors[i] = find(prefix, plan.vectors[i]);
    for (std::size_t i = 0; i < plan.matrices.size(); ++i) layer.*Layer::kMatrices[i] = find(prefix, plan.matrices[i]);
  }

  TensorRef find(const std::string& prefix, const Wanted& wanted) {
    if (wanted.part == Part::kAbsent) return nullptr;
    const std::string name = prefix + std::string(wanted.name);
    const GgufTensor* tensor = out_.file->tensor(name);
    if (tensor == nullptr) {
      if (wanted.part == Part::kRequired)
        refuse(name, "is missing; a " + std::string(out_.config.architecture->name) + " model needs it");
      return nullptr;
    }
    used_.insert(tensor->name);
    check(name, *tensor, wanted);
    return tensor;
  }

  void check(const std::string& name, const GgufTensor& tensor, const Wanted& wanted) {
    const std::vector<std::int64_t> shape(tensor.dims.rbegin(), tensor.dims.rend());
    const std::vector<std::int64_t> want =
        wanted.rows == 0 ? std::vector{wanted.cols} : std::vector{wanted.rows, wanted.cols};
    if (shape != want)
      return refuse(name, "is " + shape_text(shape) + ", must be " + shape_text(want) + " by the metadata");
    if (!tensor.format->weights)
      refuse(name, "is " + std::string(tensor.format->info.name) + ", a format without a mat-vec");
  }

  // A tensor that is left over changes what the network computes: better refused than ignored.
  void refuse_unknown() {
    for (const GgufTensor* tensor : out_.file->tensors())
      if (!used_.contains(tensor->name) && tensor->name != "rope_freqs.weight")
        return refuse(std::string(tensor->name),
                      "is none that krt knows in a " + std::string(out_.config.architecture->name) + " model");
  }

  Checkpoint& out_;
  const std::string& path_;
  std::set<std::string_view> used_;
  Status refusal_;
};

}  // namespace

Result<std::shared_ptr<const Checkpoint>> Checkpoint::open(const std::string& path) {
  Result<std::shared_ptr<const GgufFile>> file = GgufFile::open(path);
  if (!file.ok()) return file.status();
  Result<ModelConfig> config = read_config(**file, path);
  if (!config.ok()) return config.status();
  auto checkpoint =
      std::make_shared<Checkpoint>(Checkpoint{std::move(file).value(), std::move(config).value(), {}, nullptr});
  if (Status refused = Binder(*checkpoint, path).run(); !refused.ok()) return refused;
  const Gguf& header = checkpoint->file->header();
  if (header.find("tokenizer.ggml.model") != nullptr) {
    Result<std::shared_ptr<const Tokenizer>> tokenizer = Tokenizer::from_metadata(header);
    if (!tokenizer.ok()) return tokenizer.status();
    checkpoint->tokenizer = std::move(tokenizer).value();
  }
  return std::shared_ptr<const Checkpoint>(std::move(checkpoint));
}

void decode_tensor(const GgufTensor& tensor, std::span<float> out) {
  const auto values = static_cast<std::size_t>(tensor.format->info.values);
  tensor.format->decode(tensor.data.data(), out.size() / values, out.data());
}

void decode_row(const GgufTensor& tensor, std::size_t row, std::span<float> out) {
  const auto& info = tensor.format->info;
  const std::size_t blocks = out.size() / static_cast<std::size_t>(info.values);
  tensor.format->decode(tensor.data.data() + row * blocks * static_cast<std::size_t>(info.bytes), blocks, out.data());
}

std::vector<float> decoded(const GgufTensor& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.elements()));
  decode_tensor(tensor, out);
  return out;
}

}  // namespace krt::engine
