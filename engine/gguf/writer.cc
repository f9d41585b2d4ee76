#include "engine/gguf/writer.h"

namespace krt::engine {
namespace {

using Bytes = std::vector<std::uint8_t>;

template <class T>
void put(Bytes& out, T value) {
  const auto at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}
void put_text(Bytes& out, std::string_view text) {
  put(out, std::uint64_t{text.size()});
  out.insert(out.end(), text.begin(), text.end());
}
template <class T>
void put_all(Bytes& out, const std::vector<T>& values) {
  for (const T value : values) put(out, value);
}

}  // namespace

GgufWriter::GgufWriter(std::uint32_t alignment) : alignment_(alignment) {
  if (alignment != 32) add("general.alignment", alignment);
}

void GgufWriter::key(std::string_view key, MetaType type) {
  put_text(metadata_, key);
  put(metadata_, static_cast<std::uint32_t>(type));
  ++keys_;
}

void GgufWriter::array(std::string_view name, MetaType element, std::size_t count) {
  key(name, MetaType::kArray);
  put(metadata_, static_cast<std::uint32_t>(element));
  put(metadata_, std::uint64_t{count});
}

void GgufWriter::raw(std::string_view name, MetaType type, std::span<const std::uint8_t> bytes) {
  key(name, type);
  metadata_.insert(metadata_.end(), bytes.begin(), bytes.end());
}

void GgufWriter::add(std::string_view name, std::string_view text) {
  key(name, MetaType::kString);
  put_text(metadata_, text);
}
void GgufWriter::add(std::string_view name, std::uint32_t value) {
  key(name, MetaType::kU32);
  put(metadata_, value);
}
void GgufWriter::add(std::string_view name, float value) {
  key(name, MetaType::kF32);
  put(metadata_, value);
}
void GgufWriter::add(std::string_view name, bool value) {
  key(name, MetaType::kBool);
  put(metadata_, static_cast<std::uint8_t>(value));
}
void GgufWriter::add(std::string_view name, const std::vector<std::string>& texts) {
  array(name, MetaType::kString, texts.size());
  for (const std::string& text : texts) put_text(metadata_, text);
}
void GgufWriter::add(std::string_view name, const std::vector<float>& values) {
  array(name, MetaType::kF32, values.size());
  put_all(metadata_, values);
}
void GgufWriter::add(std::string_view name, const std::vector<std::int32_t>& values) {
  array(name, MetaType::kI32, values.size());
  put_all(metadata_, values);
}

void GgufWriter::copy(const MetaValue& value) {
  if (value.type == MetaType::kArray)
    array(value.key, value.element, value.count);
  else
    key(value.key, value.type);
  metadata_.insert(metadata_.end(), value.data.begin(), value.data.end());
}

void GgufWriter::tensor(std::string_view name, std::uint32_t type, std::span<const std::int64_t> dims,
                        std::span<const std::uint8_t> data) {
  tensor(name, type, dims, data.size());
  tensors_.back().data = data;
}
void GgufWriter::tensor(std::string_view name, std::uint32_t type, std::span<const std::int64_t> dims,
                        std::uint64_t bytes) {
  tensors_.push_back({std::string(name), type, {dims.begin(), dims.end()}, bytes, {}});
}

std::uint64_t GgufWriter::padded(std::uint64_t bytes) const {
  return (bytes + alignment_ - 1) / alignment_ * alignment_;
}

std::vector<std::uint8_t> GgufWriter::header() const {
  Bytes out{'G', 'G', 'U', 'F'};
  put(out, std::uint32_t{3});
  put(out, std::uint64_t{tensors_.size()});
  put(out, keys_);
  out.insert(out.end(), metadata_.begin(), metadata_.end());
  std::uint64_t offset = 0;
  for (const Pending& t : tensors_) {
    put_text(out, t.name);
    put(out, static_cast<std::uint32_t>(t.dims.size()));
    put_all(out, t.dims);
    put(out, t.type);
    put(out, offset);
    offset += padded(t.bytes);
  }
  out.resize(padded(out.size()));
  return out;
}

std::vector<std::uint8_t> GgufWriter::finish() const {
  Bytes out = header();
  for (const Pending& t : tensors_) {
    out.insert(out.end(), t.data.begin(), t.data.end());
    out.resize(padded(out.size()));
  }
  return out;
}

}  // namespace krt::engine
