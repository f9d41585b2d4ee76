#include "runtime/core/value.h"

#include <array>
#include <bit>
#include <cstring>

namespace krt {

void Value::copy(const Value& other) { std::construct_at(&v_, other.v_); }
void Value::move(Value& other) noexcept { std::construct_at(&v_, std::move(other.v_)); }
void Value::destroy() noexcept { std::destroy_at(&v_); }

const Value* Value::find(std::string_view name) const {
  const Dict* dict = get_if<Dict>();
  if (dict == nullptr) return nullptr;
  for (const auto& [key, value] : *dict)
    if (key == name) return &value;
  return nullptr;
}

const Value& Value::operator[](std::string_view name) const {
  static const Value kNull;
  const Value* found = find(name);
  return found != nullptr ? *found : kNull;
}

std::string type_text(const Value& value) {
  constexpr std::array kNames{"null", "bool", "int", "float", "string", "tensor", "list", "dict", "handle"};
  if (const Tensor* t = value.get_if<Tensor>()) return std::string(info_of(t->dtype()).name) + t->shape().str();
  if (const ObjectRef* object = value.get_if<ObjectRef>()) return std::string((*object)->type());
  return kNames[static_cast<std::size_t>(value.kind())];
}

namespace {

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

bool same_list(const List& a, const List& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!identical(a[i], b[i])) return false;
  return true;
}

bool same_dict(const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].first != b[i].first || !identical(a[i].second, b[i].second)) return false;
  return true;
}

}  // namespace

bool identical(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kNull: return true;
    case Kind::kBool: return *a.get_if<bool>() == *b.get_if<bool>();
    case Kind::kInt: return *a.get_if<std::int64_t>() == *b.get_if<std::int64_t>();
    case Kind::kFloat:
      return std::bit_cast<std::uint64_t>(*a.get_if<double>()) == std::bit_cast<std::uint64_t>(*b.get_if<double>());
    case Kind::kString: return *a.get_if<std::string>() == *b.get_if<std::string>();
    case Kind::kTensor: return same_tensor(*a.get_if<Tensor>(), *b.get_if<Tensor>());
    case Kind::kList: return same_list(*a.get_if<List>(), *b.get_if<List>());
    case Kind::kDict: return same_dict(*a.get_if<Dict>(), *b.get_if<Dict>());
    case Kind::kHandle: return *a.get_if<Handle>() == *b.get_if<Handle>();
    case Kind::kObject: return *a.get_if<ObjectRef>() == *b.get_if<ObjectRef>();
  }
  return false;
}

}  // namespace krt
