#pragma once
// engine.load, engine.unload, engine.logits: a model behind a handle.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/model.h"

namespace krt::engine {

struct Loaded {
  Handle model;
  std::string name, architecture;
  std::int64_t vocab, context, layers, width;
  static constexpr std::array kFields{"model", "name", "architecture", "vocab", "context", "layers", "width"};
};
// `reference`: as f64 values, run by the named f64 kernels alone.
Result<Loaded> load(Context& context, std::string_view path, bool reference);
// Frees the handle; calls that use the model keep it until they are done.
Result<bool> unload(Context& context, Handle handle);
// The logits after each of the last `last` of the ids: f32[last, vocab], of a reference f64.
Result<Tensor> logits(Context& context, Handle handle, std::span<const std::int64_t> ids, std::int64_t last,
                      std::int64_t chunk, std::string_view cache);

// What the handle of engine.load names, kept alive by the pointer.
Result<std::shared_ptr<const Model>> model_of(Context& context, Handle handle);
// The format of a cache by its name; refused with the argument's.
Result<decode::CacheFormat> cache_of(std::string_view name);

}  // namespace krt::engine
