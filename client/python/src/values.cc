#include "client/python/src/values.h"

#include <nanobind/stl/string_view.h>

#include <algorithm>

namespace krt::python {
namespace {

constexpr int kMaxDepth = 64;  // as in JSON and on the wire

PyObject *g_handle_class = nullptr, *g_handle_of = nullptr;  // kept for good

std::int64_t int_from(PyObject* o) {
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow != 0) throw Refusal{"is or holds an int that does not fit 64 bits"};
  return v;
}

std::string string_from(PyObject* o) {
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(o, &size);
  if (utf8 != nullptr) return {utf8, static_cast<std::size_t>(size)};
  PyErr_Clear();
  throw Refusal{"is or holds a str with a lone surrogate, which UTF-8 cannot write"};
}

// numpy's bool is no Python bool, and exports a format that no kernel takes.
bool is_numpy_bool(PyObject* o) {
  const std::string_view name = Py_TYPE(o)->tp_name;
  return name == "numpy.bool" || name == "numpy.bool_";
}

bool is_number(PyObject* o) { return PyFloat_Check(o) || (PyLong_Check(o) && !PyBool_Check(o)); }

// The numbers of a list or tuple of nothing but numbers. No Python code runs here, so that the sequence cannot
// change meanwhile.
std::optional<Tensor> numbers_from(PyObject* sequence) {
  const std::span<PyObject*> items{PySequence_Fast_ITEMS(sequence),
                                   static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence))};
  if (!std::all_of(items.begin(), items.end(), is_number)) return {};
  if (std::none_of(items.begin(), items.end(), [](PyObject* o) { return PyFloat_Check(o); })) {
    std::vector<std::int64_t> out(items.size());
    std::transform(items.begin(), items.end(), out.begin(), int_from);
    return Tensor::own(std::move(out));
  }
  std::vector<double> out(items.size());
  std::transform(items.begin(), items.end(), out.begin(), [](PyObject* o) {
    return PyFloat_Check(o) ? PyFloat_AS_DOUBLE(o) : static_cast<double>(int_from(o));
  });
  return Tensor::own(std::move(out));
}

Value scalar_from(const Tensor& rank_0) {
  const nb::object number = to_list(rank_0);
  if (PyFloat_Check(number.ptr())) return PyFloat_AS_DOUBLE(number.ptr());
  return int_from(number.ptr());
}

Tensor read_only(const Tensor& t) {
  return Tensor::borrow(t.dtype(), t.shape(), t.data(), std::make_shared<const Tensor>(t));
}

std::uint64_t unsigned_attribute(PyObject* o, const char* name) {
  const nb::object attribute = nb::steal(PyObject_GetAttrString(o, name));
  const unsigned long long v = attribute.is_valid() ? PyLong_AsUnsignedLongLong(attribute.ptr()) : 0;
  if (PyErr_Occurred() == nullptr) return v;
  PyErr_Clear();
  throw Refusal{"is a handle whose " + std::string(name) + " is no 64-bit number"};
}

bool is_torch(nb::handle array) {
  return array.is_valid() && nb::cast<std::string_view>(array.type().attr("__module__")).starts_with("torch");
}

nb::object to_python(const List& list, const Style& style) {
  nb::object out = nb::steal(PyList_New(static_cast<Py_ssize_t>(list.size())));
  if (!out.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < list.size(); ++i)
    PyList_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), to_python(list[i], style).release().ptr());
  return out;
}

nb::object to_python(const Dict& dict, const Style& style) {
  nb::object out = nb::steal(PyDict_New());
  if (!out.is_valid()) throw nb::python_error();
  for (const auto& [name, value] : dict) {
    const nb::object key = to_str(name), item = to_python(value, style);
    if (PyDict_SetItem(out.ptr(), key.ptr(), item.ptr()) != 0) throw nb::python_error();
  }
  return out;
}

}  // namespace

Value ValueReader::read(PyObject* object, int depth) {
  if (object == Py_None) return {};
  if (PyBool_Check(object)) return object == Py_True;
  if (PyLong_Check(object)) return int_from(object);
  if (PyFloat_Check(object)) return PyFloat_AS_DOUBLE(object);
  if (PyUnicode_Check(object)) return string_from(object);
  if (PyList_Check(object) || PyTuple_Check(object)) return read_sequence(object, depth);
  if (PyDict_Check(object)) return read_dict(object, depth);
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) == g_handle_class)
    return Handle{unsigned_attribute(object, "runtime"), unsigned_attribute(object, "id")};
  if (is_numpy_bool(object)) return PyObject_IsTrue(object) == 1;
  if (std::optional<Value> array = read_array(object)) return *std::move(array);
  const std::string type = Py_TYPE(object)->tp_name;
  if (depth == 0) throw Refusal{.text = {}, .got = type};
  throw Refusal{"holds a " + type + ", which is no value"};
}

std::optional<Value> ValueReader::read_array(PyObject* object) {
  std::optional<Tensor> tensor = tensor_from(object);
  if (!tensor) return {};
  if (tensor->shape().rank() == 0) return scalar_from(*tensor);
  if (!first_array_.is_valid()) first_array_ = nb::borrow(object);
  return Value(*std::move(tensor));
}

Value ValueReader::read_sequence(PyObject* object, int depth) {
  const bool is_list = PyList_Check(object);
  if (!(keep_lists_ && is_list))
    if (std::optional<Tensor> numbers = numbers_from(object)) return keep_lists_ ? read_only(*numbers) : *numbers;
  if (depth >= kMaxDepth) throw Refusal{"is nested more than 64 deep"};
  List out;
  out.reserve(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(object)));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {  // a list may change while an item is asked
    const nb::object item = nb::borrow(PySequence_Fast_GET_ITEM(object, i));
    out.push_back(read(item.ptr(), depth + 1));
  }
  return out;
}

Value ValueReader::read_dict(PyObject* object, int depth) {
  if (depth >= kMaxDepth) throw Refusal{"is nested more than 64 deep"};
  const nb::object items = nb::steal(PyDict_Items(object));
  Dict out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.ptr()); ++i) {
    PyObject* const pair = PyList_GET_ITEM(items.ptr(), i);
    PyObject* const key = PyTuple_GET_ITEM(pair, 0);
    if (!PyUnicode_Check(key)) throw Refusal{"holds a dict with a key that is no str"};
    out.emplace_back(string_from(key), read(PyTuple_GET_ITEM(pair, 1), depth + 1));
  }
  return out;
}

Arrays ValueReader::results_as(Arrays arrays) const {
  if (arrays == Arrays::kAuto) return saw_array() ? Arrays::kNumpy : Arrays::kList;
  if (arrays == Arrays::kSame) return is_torch(first_array_) ? Arrays::kTorch : Arrays::kNumpy;
  return arrays;
}

nb::object to_str(std::string_view text) {
  nb::object out = nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (!out.is_valid()) throw nb::python_error();
  return out;
}

nb::object to_python(const Value& value, const Style& style) {
  switch (value.kind()) {
    case Kind::kNull: return nb::none();
    case Kind::kBool: return nb::bool_(*value.get_if<bool>());
    case Kind::kInt: return nb::int_(*value.get_if<std::int64_t>());
    case Kind::kFloat: return nb::float_(*value.get_if<double>());
    case Kind::kString: return to_str(*value.get_if<std::string>());
    case Kind::kTensor: {
      const Tensor& t = *value.get_if<Tensor>();
      return style.arrays == Arrays::kList ? to_list(t) : to_array(t, style.arrays);
    }
    case Kind::kList: return to_python(*value.get_if<List>(), style);
    case Kind::kDict: return to_python(*value.get_if<Dict>(), style);
    case Kind::kHandle: return to_python(*value.get_if<Handle>(), style.engine);
    case Kind::kObject: return to_python(Dict{{"$object", (*value.get_if<ObjectRef>())->type()}}, style);
  }
  return nb::none();
}

void set_handle_class(nb::object cls, nb::object object_of) {
  g_handle_class = cls.release().ptr();
  g_handle_of = object_of.release().ptr();
}

nb::object to_python(Handle handle, nb::handle engine) {
  return nb::handle(g_handle_of)(engine, handle.runtime, handle.id);
}

}  // namespace krt::python
