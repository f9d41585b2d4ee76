#pragma once
// Model and Sequence: what the reference loop and the fast loop have in common.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/model/checkpoint.h"
#include "engine/tokenizer/tokenizer_functions.h"
#include "modules/decode/attention/kv_cache.h"
#include "runtime/exec/context.h"

namespace krt::engine {

struct SequenceOptions {
  std::int64_t capacity = 0;  // positions, reserved at once; 0: what the model was made for, at most 4096
  std::int64_t chunk = 512;   // tokens that go through the layers together
  decode::CacheFormat cache = decode::CacheFormat::kF16;  // the reference's is f64 always
};
inline constexpr std::int64_t kDefaultCapacity = 4096;
inline constexpr std::int64_t kMaxChunk = 4096;

// One text that a model reads and continues. Not for two threads at a time; any number of them share a model.
class Sequence {
 public:
  Sequence() = default;
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;
  virtual ~Sequence() = default;

  // Reads the tokens that come next; 1 or more, ids of the vocabulary, no more than there is room for. Refused: what
  // is not so, a cancelled call, a file that shrank. After a refusal the sequence is good for nothing more.
  virtual Status read(Context& context, std::span<const std::int64_t> ids) = 0;
  // Of the token that comes after all that were read: f32[vocab], of the reference f64[vocab]. Valid until read().
  [[nodiscard]] virtual Tensor logits() const = 0;
  [[nodiscard]] virtual std::int64_t position() const = 0;
  [[nodiscard]] virtual std::int64_t capacity() const = 0;
};

class Model : public Object, public HasTokenizer {
 public:
  explicit Model(std::shared_ptr<const Checkpoint> checkpoint) : checkpoint_(std::move(checkpoint)) {}
  [[nodiscard]] std::string_view type() const override { return "model"; }
  [[nodiscard]] const Checkpoint& checkpoint() const { return *checkpoint_; }
  [[nodiscard]] const ModelConfig& config() const { return checkpoint_->config; }
  // Null where the file has none.
  [[nodiscard]] std::shared_ptr<const Tokenizer> tokenizer() const override { return checkpoint_->tokenizer; }

  // Refused: a capacity beyond kMaxContext, or memory that cannot be had.
  [[nodiscard]] virtual Result<std::unique_ptr<Sequence>> start(Context& context,
                                                                const SequenceOptions& options) const = 0;

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
};

// Layers that are done, of all; called while a model is loaded.
using LoadProgress = std::function<void(std::int64_t done, std::int64_t total)>;

// The two forms of a model: f64 values and nothing but the named kernels, and weights in their formats.
Result<std::shared_ptr<Model>> load_reference(std::shared_ptr<const Checkpoint> checkpoint,
                                              const LoadProgress& progress = {});
Result<std::shared_ptr<Model>> load_fast(Context& context, std::shared_ptr<const Checkpoint> checkpoint,
                                         const LoadProgress& progress = {});

// What every form of read() checks first.
Status check_read(const Checkpoint& checkpoint, const Sequence& sequence, std::span<const std::int64_t> ids);
// The capacity that is asked for, or the default one; refused where it is out of range.
Result<std::int64_t> capacity_of(const ModelConfig& config, const SequenceOptions& options);

}  // namespace krt::engine
