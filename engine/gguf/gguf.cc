#include "engine/gguf/gguf.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace krt::engine {
namespace {

template <class T>
T at(const MetaValue& v, std::uint64_t i = 0) {
  return quant::load<T>(v.data.data() + i * sizeof(T));
}

// Element i of a value or array whose elements have type `type`, as the widest of its kind.
struct Number {
  enum { kInt, kUnsigned, kFloat, kNone } kind;
  std::int64_t integer;
  std::uint64_t natural;
  double real;
};
Number number_at(const MetaValue& v, MetaType type, std::uint64_t i) {
  const auto integer = [](std::int64_t x) { return Number{Number::kInt, x, 0, static_cast<double>(x)}; };
  switch (type) {
    case MetaType::kU8: return integer(at<std::uint8_t>(v, i));
    case MetaType::kI8: return integer(at<std::int8_t>(v, i));
    case MetaType::kU16: return integer(at<std::uint16_t>(v, i));
    case MetaType::kI16: return integer(at<std::int16_t>(v, i));
    case MetaType::kU32: return integer(at<std::uint32_t>(v, i));
    case MetaType::kI32: return integer(at<std::int32_t>(v, i));
    case MetaType::kI64: return integer(at<std::int64_t>(v, i));
    case MetaType::kU64: {
      const auto x = at<std::uint64_t>(v, i);
      return {Number::kUnsigned, static_cast<std::int64_t>(x), x, static_cast<double>(x)};
    }
    case MetaType::kF32: return {Number::kFloat, 0, 0, static_cast<double>(at<float>(v, i))};
    case MetaType::kF64: return {Number::kFloat, 0, 0, at<double>(v, i)};
    default: return {Number::kNone, 0, 0, 0};
  }
}

// The text at the front of `data`, which is removed from it.
std::string_view take_text(std::span<const std::uint8_t>& data) {
  const auto n = static_cast<std::size_t>(quant::load<std::uint64_t>(data.data()));
  const std::string_view text(reinterpret_cast<const char*>(data.data()) + 8, n);
  data = data.subspan(8 + n);
  return text;
}

std::vector<std::string_view> take_texts(const MetaValue& v) {
  std::vector<std::string_view> out;
  out.reserve(v.count);
  std::span<const std::uint8_t> data = v.data;
  for (std::uint64_t i = 0; i < v.count; ++i) out.push_back(take_text(data));
  return out;
}

Value scalar(const MetaValue& v) {
  if (v.type == MetaType::kBool) return at<std::uint8_t>(v) != 0;
  std::span<const std::uint8_t> data = v.data;
  if (v.type == MetaType::kString) return take_text(data);
  const Number n = number_at(v, v.type, 0);
  if (n.kind == Number::kInt) return n.integer;
  if (n.kind == Number::kUnsigned && n.natural <= static_cast<std::uint64_t>(INT64_MAX)) return n.integer;
  return n.real;
}

Value array(const MetaValue& v) {
  if (v.element == MetaType::kString) {
    List list;
    for (const std::string_view text : take_texts(v)) list.emplace_back(text);
    return list;
  }
  if (v.element == MetaType::kBool) {
    List list;
    for (std::uint64_t i = 0; i < v.count; ++i) list.emplace_back(at<std::uint8_t>(v, i) != 0);
    return list;
  }
  if (v.element == MetaType::kArray) return Value();  // known to be well formed; no model reads one
  if (v.element == MetaType::kF32 || v.element == MetaType::kF64 || v.element == MetaType::kU64) {
    std::vector<double> numbers(v.count);
    for (std::uint64_t i = 0; i < v.count; ++i) numbers[i] = number_at(v, v.element, i).real;
    return numbers;
  }
  std::vector<std::int64_t> numbers(v.count);
  for (std::uint64_t i = 0; i < v.count; ++i) numbers[i] = number_at(v, v.element, i).integer;
  return numbers;
}

}  // namespace

Value to_value(const MetaValue& v) { return v.type == MetaType::kArray ? array(v) : scalar(v); }

std::int64_t GgufTensor::elements() const {
  std::int64_t n = 1;
  for (const std::int64_t dim : dims) n *= dim;
  return n;
}

const MetaValue* Gguf::find(std::string_view key) const {
  const auto it = key_index_.find(key);
  return it == key_index_.end() ? nullptr : &metadata_[it->second];
}

const GgufTensor* Gguf::tensor(std::string_view name) const {
  const auto it = tensor_index_.find(name);
  return it == tensor_index_.end() ? nullptr : &tensors_[it->second];
}

Result<const MetaValue*> Gguf::require(std::string_view key) const {
  const MetaValue* v = find(key);
  if (v == nullptr) return invalid(name_ + ": key " + quoted(key) + " is missing");
  return v;
}

Status Gguf::wrong_kind(const MetaValue& v, std::string_view wanted) const {
  std::string is(name_of(v.type));
  if (v.type == MetaType::kArray) is += " of " + std::string(name_of(v.element));
  return invalid(name_ + ": key " + quoted(v.key) + " must be " + std::string(wanted) + ", is " + is);
}

Result<std::int64_t> Gguf::integer(std::string_view key) const {
  Result<const MetaValue*> v = require(key);
  if (!v.ok()) return v.status();
  const Number n = number_at(**v, (*v)->type, 0);
  if (n.kind == Number::kInt) return n.integer;
  if (n.kind == Number::kUnsigned && n.natural <= static_cast<std::uint64_t>(INT64_MAX)) return n.integer;
  return wrong_kind(**v, "an integer that fits 63 bits");
}

Result<double> Gguf::number(std::string_view key) const {
  Result<const MetaValue*> v = require(key);
  if (!v.ok()) return v.status();
  const Number n = number_at(**v, (*v)->type, 0);
  if (n.kind == Number::kNone) return wrong_kind(**v, "a number");
  return n.real;
}

Result<bool> Gguf::flag(std::string_view key) const {
  Result<const MetaValue*> v = require(key);
  if (!v.ok()) return v.status();
  if ((*v)->type != MetaType::kBool) return wrong_kind(**v, "a bool");
  return at<std::uint8_t>(**v) != 0;
}

Result<std::string_view> Gguf::text(std::string_view key) const {
  Result<const MetaValue*> v = require(key);
  if (!v.ok()) return v.status();
  if ((*v)->type != MetaType::kString) return wrong_kind(**v, "a string");
  std::span<const std::uint8_t> data = (*v)->data;
  return take_text(data);
}

Result<std::vector<std::string_view>> Gguf::texts(std::string_view key) const {
  Result<const MetaValue*> v = require(key);
  if (!v.ok()) return v.status();
  if ((*v)->type != MetaType::kArray || (*v)->element != MetaType::kString)
    return wrong_kind(**v, "an array of string");
  return take_texts(**v);
}

Result<std::vector<double>> Gguf::numbers(std::string_view key) const {
  Result<const MetaValue*> v = require(key);
  if (!v.ok()) return v.status();
  if ((*v)->type != MetaType::kArray) return wrong_kind(**v, "an array of numbers");
  std::vector<double> out((*v)->count);
  for (std::uint64_t i = 0; i < out.size(); ++i) {
    const Number n = number_at(**v, (*v)->element, i);
    if (n.kind == Number::kNone) return wrong_kind(**v, "an array of numbers");
    out[i] = n.real;
  }
  return out;
}

}  // namespace krt::engine
