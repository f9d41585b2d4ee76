// The fast loop: f32 activations, weights in the file's format, a chunk of tokens through each layer together.
//
// Everything a step needs is reserved when a sequence starts: read() allocates nothing. Kernels split their work over
// the context's arena; a value's bits depend on neither the number of threads nor the size of a chunk.

#include <algorithm>
#include <new>

#include "engine/model/linear.h"
#include "engine/model/model.h"
#include "modules/decode/attention/attention.h"
#include "modules/decode/gelu_mul/gelu_mul.h"
#include "modules/decode/rmsnorm/rmsnorm.h"
#include "modules/decode/rope/rope.h"
#include "modules/decode/silu_mul/silu_mul.h"

namespace krt::engine {
namespace {

// An absent part is empty.
using Vector = std::vector<float>;
using Layer = LayerOf<Vector, Linear>;
using Weights = WeightsOf<Vector, Linear>;

class FastModel final : public Model {
 public:
  FastModel(Context& context, std::shared_ptr<const Checkpoint> checkpoint, const LoadProgress& progress)
      : Model(std::move(checkpoint)) {
    const auto of_vector = [](Checkpoint::TensorRef t) { return t == nullptr ? Vector() : decoded(*t); };
    const auto of_matrix = [&](Checkpoint::TensorRef t) { return Linear::bind(context, *t); };
    const auto& from = this->checkpoint().weights;
    weights_.output = of_matrix(from.output);
    weights_.output_norm = of_vector(from.output_norm);
    weights_.layers.resize(from.layers.size());
    for (std::size_t i = 0; i < from.layers.size(); ++i) {
      convert_layer(from.layers[i], weights_.layers[i], of_vector, of_matrix);
      if (progress) progress(static_cast<std::int64_t>(i) + 1, std::ssize(from.layers));
    }
  }
  [[nodiscard]] const Weights& weights() const { return weights_; }
  [[nodiscard]] Result<std::unique_ptr<Sequence>> start(Context& context,
                                                        const SequenceOptions& options) const override;

 private:
  Weights weights_;
};

// Cosines and sines of the positions of a chunk.
class Angles {
 public:
  Angles(const Rope& rope, std::int64_t head_dim, std::size_t rows)
      : pairs_(rope.factors.size()),
        frequencies_(decode::rope_frequencies(static_cast<std::size_t>(head_dim), rope.theta)),
        cos_(rows * pairs_),
        sin_(rows * pairs_) {
    for (std::size_t i = 0; i < pairs_; ++i) frequencies_[i] /= rope.factors[i];
    row_.cos.resize(pairs_);
    row_.sin.resize(pairs_);
  }
  void set(std::int64_t position, std::size_t rows) {
    for (std::size_t r = 0; r < rows; ++r) {
      decode::rope_angles(position + static_cast<std::int64_t>(r), frequencies_, row_);
      std::copy(row_.cos.begin(), row_.cos.end(), cos_.begin() + static_cast<std::ptrdiff_t>(r * pairs_));
      std::copy(row_.sin.begin(), row_.sin.end(), sin_.begin() + static_cast<std::ptrdiff_t>(r * pairs_));
    }
  }
  void turn(Context& context, std::span<float> x, std::size_t rows, bool interleaved) const {
    decode::rope_rows(context, x, rows, pairs_, cos_, sin_, interleaved);
  }

 private:
  std::size_t pairs_;
  std::vector<double> frequencies_, cos_, sin_;
  decode::RopeAngles row_;
};

// rows x width values, of which the first rows of a chunk are in use.
class Rows {
 public:
  Rows(std::size_t rows, std::int64_t width) : width_(static_cast<std::size_t>(width)), values_(rows * width_) {}
  [[nodiscard]] std::span<float> first(std::size_t rows) { return std::span(values_).first(rows * width_); }
  [[nodiscard]] std::span<float> row(std::size_t r) { return std::span(values_).subspan(r * width_, width_); }
  [[nodiscard]] float* data() { return values_.data(); }

 private:
  std::size_t width_;
  std::vector<float> values_;
};

class FastSequence final : public Sequence {
 public:
  FastSequence(Context& context, const FastModel& model, std::int64_t capacity, const SequenceOptions& options)
      : model_(model),
        c_(model.config()),
        capacity_(capacity),
        chunk_(static_cast<std::size_t>(std::min(options.chunk, capacity))),
        angles_(c_.rope, c_.head_dim, chunk_),
        local_angles_(c_.local_rope, c_.head_dim, chunk_),
        x_(chunk_, c_.width),
        h_(chunk_, c_.width),
        out_(chunk_, c_.width),
        q_(chunk_, c_.q_width()),
        k_(chunk_, c_.kv_width()),
        v_(chunk_, c_.kv_width()),
        attended_(chunk_, c_.q_width()),
        normed_(chunk_, std::max(c_.q_width(), c_.width)),
        gate_(chunk_, c_.ff),
        up_(chunk_, c_.ff),
        gated_(chunk_, c_.ff),
        logits_(static_cast<std::size_t>(c_.vocab)) {
    for (std::int64_t layer = 0; layer < c_.layers; ++layer)
      caches_.emplace_back(options.cache, static_cast<std::size_t>(c_.kv_heads), static_cast<std::size_t>(capacity),
                           static_cast<std::size_t>(c_.head_dim));
    // What grows to the largest call does so here: no step allocates.
    rounded_.resize(chunk_, static_cast<std::size_t>(std::max({c_.width, c_.q_width(), c_.ff})));
    attend(context, 0, static_cast<std::size_t>(capacity) - 1, 1, 0);
  }

  Status read(Context& context, std::span<const std::int64_t> ids) override {
    if (Status refused = check_read(model_.checkpoint(), *this, ids); !refused.ok()) return refused;
    while (!ids.empty()) {
      if (Status stop = context.control.check(); !stop.ok()) return stop;
      const std::size_t rows = std::min(chunk_, ids.size());
      forward(context, ids.first(rows));
      ids = ids.subspan(rows);
      position_ += static_cast<std::int64_t>(rows);
      if (ids.empty()) multiply(context, {{&model_.weights().output, logits_.data()}}, h_.row(rows - 1), 1, rounded_);
    }
    return model_.checkpoint().file->intact();
  }
  [[nodiscard]] Tensor logits() const override { return Tensor::borrow(std::span<const float>(logits_)); }
  [[nodiscard]] std::int64_t position() const override { return position_; }
  [[nodiscard]] std::int64_t capacity() const override { return capacity_; }

 private:
  // The network, for the rows of a chunk; h_ is then the normalised output of its last layer.
  void forward(Context& context, std::span<const std::int64_t> ids) {
    const Weights& w = model_.weights();
    const std::size_t rows = ids.size();
    angles_.set(position_, rows);
    if (c_.window != 0) local_angles_.set(position_, rows);
    embed(ids);
    decode::rmsnorm_rows(context, x_.first(rows), w.layers.front().attn_norm, c_.eps, h_.first(rows));
    for (std::size_t i = 0; i < w.layers.size(); ++i) {
      const Layer& l = w.layers[i];
      const Vector& next = i + 1 < w.layers.size() ? w.layers[i + 1].attn_norm : w.output_norm;
      attention(context, i, rows);
      add_and_norm(context, rows, l.post_attn_norm, l.ffn_norm);
      feed_forward(context, l, rows);
      add_and_norm(context, rows, l.post_ffn_norm, next);
    }
  }

  void embed(std::span<const std::int64_t> ids) {
    const auto scale = static_cast<float>(c_.embedding_scale);
    for (std::size_t r = 0; r < ids.size(); ++r) {
      decode_row(*model_.checkpoint().weights.embedding, static_cast<std::size_t>(ids[r]), x_.row(r));
      if (c_.architecture->scaled_embedding)
        for (float& value : x_.row(r)) value *= scale;
    }
  }

  // out_ (through a norm of its own, where there is one) onto the residual x_; h_ is the norm of that.
  void add_and_norm(Context& context, std::size_t rows, const Vector& post, const Vector& weight) {
    std::span<float> out = out_.first(rows);
    if (!post.empty()) {
      decode::rmsnorm_rows(context, out, post, c_.eps, normed_.first(rows).first(out.size()));
      out = normed_.first(rows).first(out.size());
    }
    decode::add_rmsnorm_rows(context, x_.first(rows), out, weight, c_.eps, h_.first(rows));
  }

  static void add_bias(std::span<float> rows, const Vector& bias) {
    if (bias.empty()) return;
    for (std::size_t i = 0; i < rows.size(); i += bias.size())
      for (std::size_t c = 0; c < bias.size(); ++c) rows[i + c] += bias[c];
  }

  // Bias, norm of every head, RoPE, where the architecture has them.
  void finish_heads(Context& context, std::size_t layer, std::span<float> x, std::size_t rows, const Vector& bias,
                    const Vector& norm) {
    add_bias(x, bias);
    if (!norm.empty()) {
      const std::span<float> normed = normed_.first(rows).first(x.size());
      decode::rmsnorm_rows(context, x, norm, c_.eps, normed);
      std::copy(normed.begin(), normed.end(), x.begin());
    }
    const bool local = c_.window_of(static_cast<std::int64_t>(layer)) != 0;
    (local ? local_angles_ : angles_).turn(context, x, rows, c_.architecture->interleaved_rope);
  }

  void attention(Context& context, std::size_t layer, std::size_t rows) {
    const Layer& l = model_.weights().layers[layer];
    multiply(context, {{&l.q, q_.data()}, {&l.k, k_.data()}, {&l.v, v_.data()}}, h_.first(rows), rows, rounded_);
    finish_heads(context, layer, q_.first(rows), rows, l.q_bias, l.q_norm);
    finish_heads(context, layer, k_.first(rows), rows, l.k_bias, l.k_norm);
    add_bias(v_.first(rows), l.v_bias);
    const auto position = static_cast<std::size_t>(position_);
    decode::append(context, caches_[layer].view(), position, k_.first(rows), v_.first(rows));
    attend(context, layer, position, rows, c_.window_of(static_cast<std::int64_t>(layer)));
    multiply(context, {{&l.o, out_.data()}}, attended_.first(rows), rows, rounded_);
  }

  void attend(Context& context, std::size_t layer, std::size_t position, std::size_t rows, std::int64_t window) {
    const decode::AttentionQuery query{caches_[layer].view(), position, rows, q_.data(), attended_.data()};
    decode::attention_rows(context, {&query, 1}, static_cast<std::size_t>(c_.heads),
                           {.scale = c_.attention_scale, .window = static_cast<std::size_t>(window)}, workspace_);
  }

  void feed_forward(Context& context, const Layer& l, std::size_t rows) {
    multiply(context, {{&l.gate, gate_.data()}, {&l.up, up_.data()}}, h_.first(rows), rows, rounded_);
    const auto act = c_.architecture->gate == Gate::kSilu ? decode::silu_mul_into : decode::gelu_mul_into;
    act(context, gate_.first(rows), up_.first(rows), gated_.first(rows));
    multiply(context, {{&l.down, out_.data()}}, gated_.first(rows), rows, rounded_);
  }

  const FastModel& model_;
  const ModelConfig& c_;
  std::int64_t capacity_, position_ = 0;
  std::size_t chunk_;
  Angles angles_, local_angles_;
  quant::RoundedColumns rounded_;
  Rows x_, h_, out_, q_, k_, v_, attended_, normed_, gate_, up_, gated_;
  Vector logits_;
  std::vector<decode::OwnedKvCache> caches_;  // of every layer
  decode::AttentionWorkspace workspace_;
};

Result<std::unique_ptr<Sequence>> FastModel::start(Context& context, const SequenceOptions& options) const {
  const Result<std::int64_t> capacity = capacity_of(config(), options);
  if (!capacity.ok()) return capacity.status();
  if (options.chunk < 1 || options.chunk > kMaxChunk)
    return invalid("a chunk of " + std::to_string(options.chunk) + " tokens: it must be 1 to " +
                   std::to_string(kMaxChunk));
  try {
    return std::unique_ptr<Sequence>(std::make_unique<FastSequence>(context, *this, *capacity, options));
  } catch (const std::bad_alloc&) {
    return Status{Reason::kResourceExhausted,
                  "the cache of " + std::to_string(*capacity) + " tokens does not fit into memory"};
  }
}

}  // namespace

Result<std::shared_ptr<Model>> load_fast(Context& context, std::shared_ptr<const Checkpoint> checkpoint,
                                         const LoadProgress& progress) {
  const std::shared_ptr<const GgufFile> file = checkpoint->file;
  std::shared_ptr<Model> model = std::make_shared<FastModel>(context, std::move(checkpoint), progress);
  if (Status damaged = file->intact(); !damaged.ok()) return damaged;
  return model;
}

}  // namespace krt::engine
