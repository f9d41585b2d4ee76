#include "engine/model/model_functions.h"

#include <algorithm>
#include <cstring>

#include "engine/model/generate_functions.h"

namespace krt::engine {

Result<std::shared_ptr<const Model>> model_of(Context& context, Handle handle) {
  const Result<std::shared_ptr<const Value>> value = context.handles.get(handle);
  if (!value.ok()) return value.status();
  const ObjectRef* object = (*value)->get_if<ObjectRef>();
  std::shared_ptr<const Model> model = object == nullptr ? nullptr : std::dynamic_pointer_cast<const Model>(*object);
  if (model == nullptr) return invalid("argument 'model' must be a handle of engine.load, names " + type_text(**value));
  return model;
}

Result<decode::CacheFormat> cache_of(std::string_view name) {
  const auto format = decode::cache_format_named(name);
  if (!format) return invalid("argument 'cache' must be f32, f16, bf16 or q8_0, is " + quoted(name));
  return *format;
}

Result<Loaded> load(Context& context, std::string_view path, bool reference) {
  Result<std::shared_ptr<const Checkpoint>> checkpoint = Checkpoint::open(std::string(path));
  if (!checkpoint.ok()) return checkpoint.status();
  Result<std::shared_ptr<Model>> model =
      reference ? load_reference(std::move(checkpoint).value()) : load_fast(context, std::move(checkpoint).value());
  if (!model.ok()) return model.status();
  const ModelConfig& c = (*model)->config();
  Loaded loaded{{}, c.name, std::string(c.architecture->name), c.vocab, c.context, c.layers, c.width};
  Result<Handle> handle = context.handles.put(ObjectRef(std::move(model).value()), std::string(path));
  if (!handle.ok()) return handle.status();
  loaded.model = *handle;
  return loaded;
}

Result<bool> unload(Context& context, Handle handle) {
  const auto model = model_of(context, handle);
  if (!model.ok()) return model.status();
  if (Status failed = context.handles.free(handle); !failed.ok()) return failed;
  return true;
}

Result<Tensor> logits(Context& context, Handle handle, std::span<const std::int64_t> ids, std::int64_t last,
                      std::int64_t chunk, std::string_view cache) {
  const auto model = model_of(context, handle);
  if (!model.ok()) return model.status();
  const auto format = cache_of(cache);
  if (!format.ok()) return format.status();
  if (last < 1 || last > std::ssize(ids))
    return invalid("argument 'last' must be 1 to the " + std::to_string(ids.size()) + " ids, is " +
                   std::to_string(last));
  Result<std::unique_ptr<Sequence>> sequence =
      (*model)->start(context, {.capacity = std::ssize(ids), .chunk = chunk, .cache = *format});
  if (!sequence.ok()) return sequence.status();
  Result<Tensor> out(Tensor{});
  // All but the last at once, then one by one: the bits are the same.
  std::size_t read = ids.size() - static_cast<std::size_t>(last) + 1;
  for (std::size_t row = 0; row < static_cast<std::size_t>(last); ++row) {
    const auto piece = row == 0 ? ids.first(read) : ids.subspan(read++, 1);
    if (Status failed = (*sequence)->read(context, piece); !failed.ok()) return failed;
    const Tensor logits = (*sequence)->logits();
    if (row == 0) out = Tensor::zeros(logits.dtype(), Shape{last, logits.elements()});
    if (!out.ok()) return out.status();
    const std::size_t bytes = logits.bytes();
    std::memcpy(static_cast<std::uint8_t*>(out->mutable_data()) + row * bytes, logits.data(), bytes);
  }
  return out;
}

void register_model(Registry& registry) {
  ModuleBuilder m(registry, "engine", "Models: text to tokens, and what they say next");
  constexpr Arg kModel{"model", "a handle of engine.load"};
  m.function<load>("load", "Loads a GGUF model file, or all shards of one",
                   {{"path", "a file of the machine that the runtime is on"},
                    {"reference", "as f64 values, run by the named f64 kernels alone", false}})
      .details("Architectures: llama, qwen2, qwen3, gemma3. What krt cannot run is refused, naming the key or tensor")
      .caps({.determinism = Determinism::kBitExactPerVariant, .side_effects = SideEffects::kReadsFiles});
  m.function<unload>("unload", "Frees a model; calls that use it keep it until they are done", {kModel})
      .caps({.side_effects = SideEffects::kReadsFiles});
  m.function<logits>("logits", "The logits after each of the last ids of a text",
                     {kModel,
                      {"ids", "token ids of the text"},
                      {"last", "of how many ids at the end, 1 or more", 1},
                      {"chunk", "tokens that go through the layers together, 1 to 4096", 512},
                      {"cache", "format of keys and values: f32, f16, bf16, q8_0; the reference's are f64", "f16"}})
      .details("f32[last, vocab], of a reference f64; the bits depend on neither chunk nor threads")
      .caps({.determinism = Determinism::kBitExactPerVariant, .side_effects = SideEffects::kReadsFiles});
  declare_generate(m);
}

}  // namespace krt::engine
