// The reference loop: a model in f64, one token after the other, through nothing but kernels that are found by name.
//
// It is what every faster loop is compared with, and the example of how the kernels compose: step() below is the whole
// network. Weights are decoded to f64 once (8 bytes a weight); the matrices of a layer are kept transposed, as
// llmk.gemv_fast takes them.

#include <limits>
#include <new>

#include "engine/model/model.h"
#include "engine/model/named_kernels.h"

namespace krt::engine {
namespace {

// f64[n]; vectors and matrices alike. An absent part has no elements.
using Layer = LayerOf<Tensor, Tensor>;
using Weights = WeightsOf<Tensor, Tensor>;

Tensor values_of(const GgufTensor& tensor) {
  const std::vector<float> values = decoded(tensor);
  return Tensor::own(std::vector<double>(values.begin(), values.end()));
}

Tensor vector_of(Checkpoint::TensorRef tensor) { return tensor == nullptr ? Tensor() : values_of(*tensor); }

// inputs x outputs.
Tensor transposed(Checkpoint::TensorRef tensor) {
  const auto inputs = static_cast<std::size_t>(tensor->dims[0]), outputs = static_cast<std::size_t>(tensor->dims[1]);
  std::vector<double> out(inputs * outputs);
  std::vector<float> row(inputs);
  for (std::size_t r = 0; r < outputs; ++r) {
    decode_row(*tensor, r, row);
    for (std::size_t c = 0; c < inputs; ++c) out[c * outputs + r] = double{row[c]};
  }
  return Tensor::own(std::move(out));
}

class ReferenceModel final : public Model {
 public:
  ReferenceModel(std::shared_ptr<const Checkpoint> checkpoint, const LoadProgress& progress)
      : Model(std::move(checkpoint)) {
    const auto& from = this->checkpoint().weights;
    weights_.embedding = values_of(*from.embedding);
    weights_.output = this->checkpoint().tied() ? weights_.embedding : values_of(*from.output);
    weights_.output_norm = values_of(*from.output_norm);
    weights_.layers.resize(from.layers.size());
    for (std::size_t i = 0; i < from.layers.size(); ++i) {
      convert_layer(from.layers[i], weights_.layers[i], vector_of, transposed);
      if (progress) progress(static_cast<std::int64_t>(i) + 1, std::ssize(from.layers));
    }
  }
  [[nodiscard]] const Weights& weights() const { return weights_; }
  [[nodiscard]] Result<std::unique_ptr<Sequence>> start(Context& context,
                                                        const SequenceOptions& options) const override;

 private:
  Weights weights_;
};

class ReferenceSequence final : public Sequence {
 public:
  ReferenceSequence(const ReferenceModel& model, const Context& context, std::int64_t capacity)
      : model_(model), c_(model.config()), capacity_(capacity) {
    const NamedKernels call(context);
    tables_ = table_of(call, c_.rope);
    if (c_.window != 0) local_tables_ = table_of(call, c_.local_rope);
    for (std::int64_t layer = 0; layer < c_.layers; ++layer) {
      keys_.push_back(reserve(call));
      values_.push_back(reserve(call));
    }
  }

  Status read(Context& context, std::span<const std::int64_t> ids) override {
    if (Status refused = check_read(model_.checkpoint(), *this, ids); !refused.ok()) return refused;
    const NamedKernels call(context);
    for (const std::int64_t id : ids) {
      if (Status stop = context.control.check(); !stop.ok()) return stop;
      try {
        step(call, id);
      } catch (const StatusError& refused) {
        return refused.status();
      }
    }
    return {};
  }
  [[nodiscard]] Tensor logits() const override { return logits_; }
  [[nodiscard]] std::int64_t position() const override { return position_; }
  [[nodiscard]] std::int64_t capacity() const override { return capacity_; }

 private:
  struct Tables {
    Tensor cos, sin;
  };

  Tables table_of(const NamedKernels& call, const Rope& rope) const {
    const Value table =
        call.value("attnk.rope", "rope_table_freq_factors", {c_.head_dim, capacity_, rope.theta, rope.factors});
    return {*table["cos_table"].get_if<Tensor>(), *table["sin_table"].get_if<Tensor>()};
  }

  Tensor reserve(const NamedKernels& call) const {
    const Value cache = call.value("llmk.generate", "_kv_cache_reserve_flat", {capacity_ * c_.kv_width()});
    Tensor reserved = *cache.get_if<Tensor>();
    if (reserved.elements() == 0)
      throw StatusError({Reason::kResourceExhausted,
                         "a reference sequence of " + std::to_string(capacity_) + " tokens is too long for its cache"});
    return reserved;
  }

  void step(const NamedKernels& call, std::int64_t token) {
    const Weights& w = model_.weights();
    Tensor x = embed(call, token);
    for (std::size_t layer = 0; layer < w.layers.size(); ++layer) {
      const Layer& l = w.layers[layer];
      Tensor h = norm(call, x, l.attn_norm);
      h = attention(call, layer, h);
      x = add(call, x, norm(call, h, l.post_attn_norm));
      h = norm(call, x, l.ffn_norm);
      h = feed_forward(call, l, h);
      x = add(call, x, norm(call, h, l.post_ffn_norm));
    }
    x = norm(call, x, w.output_norm);
    logits_ = call("gemm.blocked", "gemv_flat", {w.output, x, c_.vocab, c_.width, false}, "c");
    ++position_;
  }

  Tensor embed(const NamedKernels& call, std::int64_t token) const {
    const Tensor& table = model_.weights().embedding;
    Tensor x = call("mlpk.embedding", "embedding_fwd_flat",
                    {table, std::vector<std::int64_t>{token}, 1, c_.vocab, c_.width}, "y");
    if (c_.architecture->scaled_embedding)
      for (double& value : x.as_mutable<double>()) value *= c_.embedding_scale;
    return x;
  }

  // Rows as long as gamma; without a gamma the architecture has no norm there.
  Tensor norm(const NamedKernels& call, const Tensor& x, const Tensor& gamma) const {
    const std::int64_t cols = gamma.elements();
    if (cols == 0) return x;
    return call("normk.rmsnorm", "rmsnorm_fwd_flat", {x, gamma, x.elements() / cols, cols, c_.eps}, "y");
  }

  static Tensor add(const NamedKernels& call, const Tensor& a, const Tensor& b) {
    return call("llmk.residual", "residual_add_flat", {a, b, a.elements()}, "out");
  }

  static Tensor project(const NamedKernels& call, const Tensor& x, const Tensor& weight, const Tensor& bias = {}) {
    const std::int64_t inputs = x.elements();
    const std::int64_t outputs = weight.elements() / inputs;
    const Tensor y = call("llmk.gemv_fast", "gemv_transposed_parallel_flat", {weight, x, inputs, outputs}, "y");
    return bias.elements() == 0 ? y : add(call, y, bias);
  }

  Tensor turn(const NamedKernels& call, std::size_t layer, const Tensor& x) const {
    const Tables& t = c_.window_of(static_cast<std::int64_t>(layer)) == 0 ? tables_ : local_tables_;
    return call("attnk.rope", "rope_apply_flat",
                {x, t.cos, t.sin, 1, x.elements() / c_.head_dim, c_.head_dim, std::vector<std::int64_t>{position_},
                 c_.architecture->interleaved_rope},
                "values");
  }

  Tensor attention(const NamedKernels& call, std::size_t layer, const Tensor& h) {
    const Layer& l = model_.weights().layers[layer];
    const Tensor q = turn(call, layer, norm(call, project(call, h, l.q, l.q_bias), l.q_norm));
    const Tensor k = turn(call, layer, norm(call, project(call, h, l.k, l.k_bias), l.k_norm));
    const Tensor v = project(call, h, l.v, l.v_bias);
    append(call, keys_[layer], k);
    append(call, values_[layer], v);
    const std::int64_t seen = position_ + 1;
    const std::int64_t window = c_.window_of(static_cast<std::int64_t>(layer));
    const Tensor bias = window == 0
                            ? call("attnk.mask", "mask_causal_flat", {1, seen, position_}, "bias")
                            : call("attnk.mask", "mask_sliding_window_flat", {1, seen, window, position_}, "bias");
    const Tensor out = call("attnk.sdpa", "sdpa_forward_flat",
                            {q, filled(keys_[layer]), filled(values_[layer]), bias, 1, seen, c_.heads, c_.kv_heads,
                             c_.head_dim, c_.attention_scale, true},
                            "out");
    return project(call, out, l.o);
  }

  void append(const NamedKernels& call, const Tensor& cache, const Tensor& row) const {
    call.value("llmk.generate", "_kv_cache_append_into_flat", {cache, row, position_ * c_.kv_width(), c_.kv_width()});
  }

  // The rows of a cache up to the one of this step.
  [[nodiscard]] Tensor filled(const Tensor& cache) const {
    return Tensor::borrow(cache.as<double>().first(static_cast<std::size_t>((position_ + 1) * c_.kv_width())));
  }

  Tensor feed_forward(const NamedKernels& call, const Layer& l, const Tensor& h) const {
    const Tensor gate = project(call, h, l.gate);
    const Tensor up = project(call, h, l.up);
    const std::int64_t kind = c_.architecture->gate == Gate::kSilu ? 0 : 2;
    const Tensor y = call("mlpk.activation", "gated_ffn_fwd_flat", {up, gate, 1, c_.ff, kind}, "y");
    return project(call, y, l.down);
  }

  const ReferenceModel& model_;
  const ModelConfig& c_;
  std::int64_t capacity_, position_ = 0;
  Tables tables_, local_tables_;
  std::vector<Tensor> keys_, values_;  // of every layer: capacity x kv_heads x head_dim
  Tensor logits_;
};

Result<std::unique_ptr<Sequence>> ReferenceModel::start(Context& context, const SequenceOptions& options) const {
  const Result<std::int64_t> capacity = capacity_of(config(), options);
  if (!capacity.ok()) return capacity.status();
  try {
    return std::unique_ptr<Sequence>(std::make_unique<ReferenceSequence>(*this, context, *capacity));
  } catch (const StatusError& refused) {
    return refused.status();
  }
}

}  // namespace

Result<std::shared_ptr<Model>> load_reference(std::shared_ptr<const Checkpoint> checkpoint,
                                              const LoadProgress& progress) {
  const std::shared_ptr<const GgufFile> file = checkpoint->file;
  try {
    std::shared_ptr<Model> model = std::make_shared<ReferenceModel>(std::move(checkpoint), progress);
    if (Status damaged = file->intact(); !damaged.ok()) return damaged;
    return model;
  } catch (const std::bad_alloc&) {
    return Status{Reason::kResourceExhausted, "the model's weights do not fit into memory as f64"};
  }
}

}  // namespace krt::engine
