#include "engine/gguf/gguf_functions.h"

#include <algorithm>

#include "runtime/registry/module_builder.h"

namespace krt::engine {
namespace {

Result<std::shared_ptr<const GgufFile>> file_of(Context& context, Handle handle) {
  const Result<std::shared_ptr<const Value>> value = context.handles.get(handle);
  if (!value.ok()) return value.status();
  const ObjectRef* object = (*value)->get_if<ObjectRef>();
  const auto* gguf = object != nullptr ? dynamic_cast<const GgufObject*>(object->get()) : nullptr;
  if (gguf == nullptr) return invalid("argument 'gguf' must be a handle of gguf.open, names " + type_text(**value));
  return gguf->file;
}

std::vector<std::int64_t> row_major(const GgufTensor& t) { return {t.dims.rbegin(), t.dims.rend()}; }

Value shown(const MetaValue& v, std::int64_t longest) {
  if (v.type != MetaType::kArray) return to_value(v);
  const bool nested = v.element == MetaType::kArray;
  if (!nested && (longest <= 0 || v.count <= static_cast<std::uint64_t>(longest))) return to_value(v);
  return Dict{{"type", "array of " + std::string(name_of(v.element))}, {"count", static_cast<std::int64_t>(v.count)}};
}

}  // namespace

Result<GgufOpened> open(Context& context, std::string_view path) {
  Result<std::shared_ptr<const GgufFile>> file = GgufFile::open(std::string(path));
  if (!file.ok()) return file.status();
  const Gguf& header = (*file)->header();
  GgufOpened opened{{},
                    header.version(),
                    std::ssize(header.metadata()),
                    std::ssize((*file)->tensors()),
                    static_cast<std::int64_t>((*file)->shard_count())};
  Result<Handle> handle =
      context.handles.put(ObjectRef(std::make_shared<GgufObject>(std::move(file).value())), std::string(path));
  if (!handle.ok()) return handle.status();
  opened.handle = *handle;
  return opened;
}

Result<Dict> metadata(Context& context, Handle gguf, std::int64_t longest) {
  const auto file = file_of(context, gguf);
  if (!file.ok()) return file.status();
  Dict out;
  for (const MetaValue& v : (*file)->header().metadata()) out.emplace_back(v.key, shown(v, longest));
  if (Status damaged = (*file)->intact(); !damaged.ok()) return damaged;
  return out;
}

Result<List> tensors(Context& context, Handle gguf) {
  const auto file = file_of(context, gguf);
  if (!file.ok()) return file.status();
  List out;
  for (const GgufTensor* t : (*file)->tensors())
    out.emplace_back(Dict{{"name", t->name},
                          {"type", t->format->info.name},
                          {"shape", row_major(*t)},
                          {"bytes", static_cast<std::int64_t>(t->data.size())},
                          {"offset", static_cast<std::int64_t>(t->offset)}});
  return out;
}

Result<Tensor> read(Context& context, Handle gguf, std::string_view name) {
  const auto file = file_of(context, gguf);
  if (!file.ok()) return file.status();
  const GgufTensor* t = (*file)->tensor(name);
  if (t == nullptr) return invalid("argument 'tensor': the file has no tensor " + quoted(name));
  if (t->format->decode == nullptr)
    return invalid("argument 'tensor': krt has no decoder for " + std::string(t->format->info.name));
  const Result<Shape> shape = Shape::checked(row_major(*t));
  if (!shape.ok()) return shape.status();
  Result<Tensor> out = Tensor::zeros(DType::kF32, *shape);
  if (!out.ok()) return out.status();
  t->format->decode(t->data.data(), t->data.size() / static_cast<std::size_t>(t->format->info.bytes),
                    out->as_mutable<float>().data());
  if (Status damaged = (*file)->intact(); !damaged.ok()) return damaged;
  return out;
}

void register_gguf(Registry& registry) {
  ModuleBuilder m(registry, "gguf", "Model files: their metadata and tensors");
  m.function<open>("open", "Opens a GGUF file, or all shards of one, and checks its container",
                   {{"path", "a file of the machine that the runtime is on"}})
      .details("A file that is not sound is refused with a sentence that names the key or tensor")
      .caps({.side_effects = SideEffects::kReadsFiles});
  m.function<metadata>(
       "metadata", "The keys of an open file and their values",
       {{"gguf", "a handle of gguf.open"}, {"longest", "arrays of more elements are described only; 0: none", 64}})
      .caps({.side_effects = SideEffects::kReadsFiles});
  m.function<tensors>("tensors", "Name, type, shape, bytes and offset of every tensor",
                      {{"gguf", "a handle of gguf.open"}})
      .caps({.side_effects = SideEffects::kReadsFiles});
  m.function<read>("read", "A tensor's values as f32", {{"gguf", "a handle of gguf.open"}, {"tensor", "its name"}})
      .caps({.side_effects = SideEffects::kReadsFiles});
}

}  // namespace krt::engine
