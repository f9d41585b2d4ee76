#pragma once
// Value: what execute takes and returns. One of null, bool, int, float, string, tensor, list, dict, handle, object.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/core/tensor.h"

namespace krt {

class Value;
using List = std::vector<Value>;  // a list in a list is List{Value(list)}: to clang List{list} is a copy
using Dict = std::vector<std::pair<std::string, Value>>;  // in the order written; names are unique

// A value that lives in a runtime and is named so that it is sent once. `runtime` tells a handle of another
// runtime (or of an earlier process) from one of ours; 0 in `id` is no handle.
struct Handle {
  std::uint64_t runtime = 0;
  std::uint64_t id = 0;
  friend bool operator==(const Handle&, const Handle&) = default;
};

// Something that only this process can hold (an open model file, a model): it lives behind a handle and never travels.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  [[nodiscard]] virtual std::string_view type() const = 0;  // "model"
};
using ObjectRef = std::shared_ptr<Object>;

enum class Kind : std::uint8_t { kNull, kBool, kInt, kFloat, kString, kTensor, kList, kDict, kHandle, kObject };

class Value {
 public:
  Value() : v_(std::monostate()) {}  // v_() would zero all of it
  Value(std::nullptr_t) : Value() {}
  Value(bool v) : v_(v) {}
  Value(std::int64_t v) : v_(v) {}
  Value(int v) : v_(std::int64_t{v}) {}
  Value(double v) : v_(v) {}
  Value(std::string v) : v_(std::move(v)) {}
  Value(std::string_view v) : v_(std::string(v)) {}
  Value(const char* v) : v_(std::string(v)) {}
  Value(Tensor v) : v_(std::move(v)) {}
  Value(std::vector<double> v) : v_(Tensor::own(std::move(v))) {}
  Value(std::vector<float> v) : v_(Tensor::own(std::move(v))) {}
  Value(std::vector<std::int64_t> v) : v_(Tensor::own(std::move(v))) {}
  Value(List v) : v_(std::move(v)) {}
  Value(Dict v) : v_(std::move(v)) {}
  Value(Handle v) : v_(v) {}
  Value(ObjectRef v) : v_(std::move(v)) {}

  // As std::variant's own, but numbers stay in line and the rest out of it: a call of four of them would spend half its
  // time in visits.
  Value(const Value& other) {
    if (!take_number(other)) copy(other);
  }
  Value(Value&& other) noexcept { take(other); }
  Value& operator=(const Value& other) { return *this = Value(other); }
  Value& operator=(Value&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~Value() { release(); }

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(v_.index()); }
  [[nodiscard]] bool is_null() const { return kind() == Kind::kNull; }
  template <class T>
  [[nodiscard]] const T* get_if() const {
    return std::get_if<T>(&v_);
  }
  template <class T>
  [[nodiscard]] T* get_if() {
    return std::get_if<T>(&v_);
  }
  // A dict's member, or null where this is no dict or has no such member.
  [[nodiscard]] const Value* find(std::string_view name) const;
  // find() for those who know that it is there (tests, examples); a null value where it is not.
  const Value& operator[](std::string_view name) const;

 private:
  using Storage =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, Tensor, List, Dict, Handle, ObjectRef>;

  void release() {
    if (kind() > Kind::kFloat && kind() != Kind::kHandle) destroy();
  }
  // Onto storage that holds nothing to destroy, as the three below.
  void take(Value& other) noexcept {
    if (!take_number(other)) move(other);
  }
  bool take_number(const Value& other) noexcept {
    if (const auto* d = std::get_if<double>(&other.v_))
      std::construct_at(&v_, *d);
    else if (const auto* i = std::get_if<std::int64_t>(&other.v_))
      std::construct_at(&v_, *i);
    else
      return false;
    return true;
  }
  void copy(const Value& other);
  void move(Value& other) noexcept;
  void destroy() noexcept;

  union {
    Storage v_;
  };
};

// "null", "bool", "int", "float", "string", "list", "dict", "handle"; a tensor as "f64[2,3]", an object as its own
// type.
std::string type_text(const Value& value);

// Equal to the last bit: dtypes, shapes and bytes of tensors, names and order of dicts; two NaNs of equal bits
// are identical.
bool identical(const Value& a, const Value& b);

}  // namespace krt
