#include "proto/codec/value.h"

#include <cstring>
#include <optional>
#include <unordered_set>

namespace krt::wire {
namespace {

v1::DType to_message(DType dtype) {
  switch (dtype) {
    case DType::kF64: return v1::DTYPE_F64;
    case DType::kF32: return v1::DTYPE_F32;
    case DType::kF16: return v1::DTYPE_F16;
    case DType::kBF16: return v1::DTYPE_BF16;
    case DType::kI8: return v1::DTYPE_I8;
    case DType::kU8: return v1::DTYPE_U8;
    case DType::kI16: return v1::DTYPE_I16;
    case DType::kI32: return v1::DTYPE_I32;
    case DType::kI64: return v1::DTYPE_I64;
  }
  return v1::DTYPE_UNSPECIFIED;
}

std::optional<DType> dtype_of_message(int dtype) {
  switch (dtype) {
    case v1::DTYPE_F64: return DType::kF64;
    case v1::DTYPE_F32: return DType::kF32;
    case v1::DTYPE_F16: return DType::kF16;
    case v1::DTYPE_BF16: return DType::kBF16;
    case v1::DTYPE_I8: return DType::kI8;
    case v1::DTYPE_U8: return DType::kU8;
    case v1::DTYPE_I16: return DType::kI16;
    case v1::DTYPE_I32: return DType::kI32;
    case v1::DTYPE_I64: return DType::kI64;
    default: return std::nullopt;
  }
}

// The largest alignment that an element of a tensor needs.
constexpr std::uintptr_t kAlignment = alignof(double);

// Writing. Fields in reverse order of their numbers, elements last one first: see Writer.

void put_tensor(Writer& writer, int field, const Tensor& tensor) {
  writer.put_message(field, [&] {
    writer.put_bytes(v1::Tensor::kDataFieldNumber, tensor);
    writer.put_packed(v1::Tensor::kShapeFieldNumber, tensor.shape().dims());
    writer.put_varint(v1::Tensor::kDtypeFieldNumber, static_cast<std::uint64_t>(to_message(tensor.dtype())));
  });
}

void put_value(Writer& writer, int field, const Value& value, int depth);

void put_list(Writer& writer, int field, const List& list, int depth) {
  writer.put_message(field, [&] {
    for (auto item = list.rbegin(); item != list.rend(); ++item)
      put_value(writer, v1::List::kItemsFieldNumber, *item, depth + 1);
  });
}

void put_dict(Writer& writer, int field, const Dict& dict, int depth) {
  using Entry = v1::Dict::Entry;
  writer.put_message(field, [&] {
    for (auto entry = dict.rbegin(); entry != dict.rend(); ++entry) {
      writer.put_message(v1::Dict::kEntriesFieldNumber, [&] {
        put_value(writer, Entry::kValueFieldNumber, entry->second, depth + 1);
        writer.put_text(Entry::kNameFieldNumber, entry->first);
      });
    }
  });
}

void put_value(Writer& writer, int field, const Value& value, int depth) {
  if (depth > kMaxValueDepth) return writer.fail(invalid("a value is nested deeper than 64 levels"));
  writer.put_message(field, [&] {
    switch (value.kind()) {
      case Kind::kNull: return writer.put_varint(v1::Value::kNullValueFieldNumber, 0);
      case Kind::kBool: return writer.put_varint(v1::Value::kBoolValueFieldNumber, *value.get_if<bool>() ? 1 : 0);
      case Kind::kInt:
        return writer.put_varint(v1::Value::kIntValueFieldNumber,
                                 static_cast<std::uint64_t>(*value.get_if<std::int64_t>()));
      case Kind::kFloat: return writer.put_double(v1::Value::kFloatValueFieldNumber, *value.get_if<double>());
      case Kind::kString: return writer.put_text(v1::Value::kStringValueFieldNumber, *value.get_if<std::string>());
      case Kind::kTensor: return put_tensor(writer, v1::Value::kTensorFieldNumber, *value.get_if<Tensor>());
      case Kind::kList: return put_list(writer, v1::Value::kListFieldNumber, *value.get_if<List>(), depth);
      case Kind::kDict: return put_dict(writer, v1::Value::kDictFieldNumber, *value.get_if<Dict>(), depth);
      case Kind::kObject:
        return put_dict(writer, v1::Value::kDictFieldNumber, {{"$object", (*value.get_if<ObjectRef>())->type()}},
                        depth);
      case Kind::kHandle: return wire::put_handle(writer, v1::Value::kHandleFieldNumber, *value.get_if<Handle>());
    }
  });
}

// Reading. What is wrong is said by the innermost call; the path to it is put together on the way out.

class Taker {
 public:
  explicit Taker(const std::shared_ptr<const void>& owner) : owner_(owner) {}

  bool value(v1::Value& message, Value& out, int depth) {
    if (depth > kMaxValueDepth) return wrong("nested deeper than 64 levels");
    switch (message.kind_case()) {
      case v1::Value::KIND_NOT_SET:
      case v1::Value::kNullValue: return true;
      case v1::Value::kBoolValue: return out = message.bool_value(), true;
      case v1::Value::kIntValue: return out = std::int64_t{message.int_value()}, true;
      case v1::Value::kFloatValue: return out = message.float_value(), true;
      case v1::Value::kStringValue: return out = std::move(*message.mutable_string_value()), true;
      case v1::Value::kTensor: return tensor(*message.mutable_tensor(), out);
      case v1::Value::kList: return list(*message.mutable_list(), out, depth);
      case v1::Value::kDict: return dict(*message.mutable_dict(), out, depth);
      case v1::Value::kHandle: return out = take_handle(message.handle()), true;
    }
    return wrong("a kind of value that this version does not know");
  }

  bool dict(v1::Dict& message, Dict& out, int depth) {
    const auto size = static_cast<std::size_t>(message.entries_size());
    std::unordered_set<std::string_view> names(size);
    out.reserve(size);
    for (v1::Dict::Entry& entry : *message.mutable_entries()) {
      if (!names.insert(entry.name()).second) return wrong("the name " + quoted(entry.name()) + " is given twice");
      out.emplace_back(entry.name(), Value());
      if (!value(*entry.mutable_value(), out.back().second, depth + 1)) return under("[" + quoted(entry.name()) + "]");
    }
    return true;
  }

  [[nodiscard]] Status failure(const std::string& path) const { return invalid(path + path_ + ": " + text_); }

 private:
  bool dict(v1::Dict& message, Value& out, int depth) {
    Dict taken;
    return dict(message, taken, depth) && (out = std::move(taken), true);
  }

  bool list(v1::List& message, Value& out, int depth) {
    List taken(static_cast<std::size_t>(message.items_size()));
    for (std::size_t i = 0; i < taken.size(); ++i)
      if (!value(*message.mutable_items(static_cast<int>(i)), taken[i], depth + 1))
        return under("[" + std::to_string(i) + "]");
    return out = std::move(taken), true;
  }

  bool tensor(v1::Tensor& message, Value& out) {
    const auto& shape = message.shape();
    Result<Tensor> t = tensor_over(message.dtype(), {shape.data(), static_cast<std::size_t>(shape.size())},
                                   *message.mutable_data(), owner_);
    if (!t.ok()) return wrong(t.status().message());
    return out = std::move(*t), true;
  }

  bool wrong(std::string text) { return text_ = std::move(text), false; }
  bool under(const std::string& step) { return path_ = step + path_, false; }

  const std::shared_ptr<const void>& owner_;
  std::string path_, text_;
};

}  // namespace

void put_value(Writer& writer, int field, const Value& value) { put_value(writer, field, value, 1); }

void put_dict(Writer& writer, int field, const Dict& dict) { put_dict(writer, field, dict, 1); }

void put_handle(Writer& writer, int field, Handle handle) {
  writer.put_message(field, [&] {
    writer.put_varint(v1::Handle::kIdFieldNumber, handle.id);
    writer.put_fixed64(v1::Handle::kRuntimeFieldNumber, handle.runtime);
  });
}

Result<Value> take_value(v1::Value& message, const std::shared_ptr<const void>& owner, const std::string& path) {
  Taker taker(owner);
  Value out;
  if (!taker.value(message, out, 1)) return taker.failure(path);
  return out;
}

Result<Dict> take_dict(v1::Dict& message, const std::shared_ptr<const void>& owner, const std::string& path) {
  Taker taker(owner);
  Dict out;
  if (!taker.dict(message, out, 1)) return taker.failure(path);
  return out;
}

Handle take_handle(const v1::Handle& message) { return {message.runtime(), message.id()}; }

v1::Handle to_message(Handle handle) {
  v1::Handle message;
  message.set_runtime(handle.runtime);
  message.set_id(handle.id);
  return message;
}

Result<Tensor> tensor_over(int dtype, std::span<const std::int64_t> dims, std::span<char> bytes,
                           const std::shared_ptr<const void>& owner) {
  const std::optional<DType> known = dtype_of_message(dtype);
  if (!known) return invalid("dtype " + std::to_string(dtype) + " is not known");
  Result<Shape> shape = Shape::checked(dims);
  if (!shape.ok()) return shape.status();
  Result<std::size_t> size = bytes_for(*known, *shape);
  if (!size.ok()) return size.status();
  if (*size != bytes.size())
    return invalid("a tensor " + std::string(info_of(*known).name) + shape->str() + " has " + std::to_string(*size) +
                   " bytes, got " + std::to_string(bytes.size()));
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment == 0)
    return Tensor::borrow_mutable(*known, *shape, bytes.data(), owner);
  Result<Tensor> copy = Tensor::zeros(*known, *shape);
  if (copy.ok() && !bytes.empty()) std::memcpy(copy->mutable_data(), bytes.data(), bytes.size());
  return copy;
}

}  // namespace krt::wire
