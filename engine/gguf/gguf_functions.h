#pragma once
// gguf.open, gguf.metadata, gguf.tensors, gguf.read: a model file's container behind a handle.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/gguf/gguf.h"
#include "runtime/exec/context.h"

namespace krt::engine {

// What the handle of gguf.open names.
class GgufObject final : public Object {
 public:
  explicit GgufObject(std::shared_ptr<const GgufFile> file) : file(std::move(file)) {}
  [[nodiscard]] std::string_view type() const override { return "gguf"; }
  const std::shared_ptr<const GgufFile> file;
};

struct GgufOpened {
  Handle handle;
  std::int64_t version;
  std::int64_t keys;
  std::int64_t tensors;
  std::int64_t shards;
  static constexpr std::array kFields{"handle", "version", "keys", "tensors", "shards"};
};
Result<GgufOpened> open(Context& context, std::string_view path);
// Every key and its value, in the order of the file. `longest`: arrays with more elements are given as
// {"type": "array of string", "count": n}; 0 gives all in full.
Result<Dict> metadata(Context& context, Handle gguf, std::int64_t longest);
// {name, type, shape (a row's length last, as tensors of krt have it), bytes, offset} of every tensor.
Result<List> tensors(Context& context, Handle gguf);
// The values of the tensor called `name` as f32 in its shape.
Result<Tensor> read(Context& context, Handle gguf, std::string_view name);

}  // namespace krt::engine
