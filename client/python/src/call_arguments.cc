#include "client/python/src/call_arguments.h"

#include <algorithm>
#include <limits>
#include <new>

namespace krt::python {
namespace {

struct Failure {
  Status status;
};

bool changes_arguments(const FunctionInfo& info) {
  return std::any_of(info.params.begin(), info.params.end(), [](const Param& p) { return p.in_place; });
}

std::size_t index_of(const FunctionInfo& info, std::string_view name) {
  const auto it = std::find_if(info.params.begin(), info.params.end(), [&](const Param& p) { return p.name == name; });
  return static_cast<std::size_t>(it - info.params.begin());
}

Status refused(const FunctionInfo& info, std::size_t i, const Refusal& refusal) {
  const bool known = i < info.params.size();
  const std::string name = known ? quoted(info.params[i].name) : std::to_string(i + 1);
  const std::string type = known ? info.params[i].type : "a value";
  const std::string text = refusal.text.empty() ? "must be " + type + ", got " + quoted(refusal.got) : refusal.text;
  return invalid(info.full_name() + ": argument " + name + " " + text);
}

// Runs `read`; what it throws becomes a Status. Python's own errors (KeyboardInterrupt) pass.
template <class Read>
auto guarded(const FunctionInfo& info, Read read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const Failure& failure) {
    return failure.status;
  } catch (const std::bad_alloc&) {
    return Status(Reason::kResourceExhausted, info.full_name() + ": no memory for the arguments");
  }
}

}  // namespace

CallArguments::CallArguments(const FunctionInfo& info)
    : info_(info), in_place_(changes_arguments(info)), reader_(in_place_) {
  if (in_place_) given_.resize(info.params.size());
}

Value CallArguments::read_one(std::size_t i, PyObject* object) {
  if (i < given_.size()) given_[i] = nb::borrow(object);
  try {
    return reader_.read(object);
  } catch (const Refusal& refusal) {
    throw Failure{refused(info_, i, refusal)};
  }
}

// As in runtime/registry/call.cc: a list given to a function of one list parameter is that parameter, unless it has
// one element that may itself be the list.
bool CallArguments::is_the_one_list(PyObject* args) const {
  if (info_.params.size() != 1 || !info_.params[0].is_list) return false;
  if (PyList_GET_SIZE(args) != 1) return true;
  PyObject* const only = PyList_GET_ITEM(args, 0);
  return only == Py_None || PyLong_Check(only) || PyFloat_Check(only) || PyUnicode_Check(only) || PyDict_Check(only);
}

Value CallArguments::read_by_name(PyObject* dict) {
  const nb::object items = nb::steal(PyDict_Items(dict));
  Dict out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.ptr()); ++i) {
    PyObject* const pair = PyList_GET_ITEM(items.ptr(), i);
    PyObject* const key = PyTuple_GET_ITEM(pair, 0);
    const char* const name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : nullptr;
    if (name == nullptr) {
      PyErr_Clear();
      throw Failure{invalid(info_.full_name() + ": the names of arguments are str")};
    }
    const std::size_t index = index_of(info_, name);
    // The value of an unknown name is not read: the call refuses the name.
    out.emplace_back(name, index < info_.params.size() ? read_one(index, PyTuple_GET_ITEM(pair, 1)) : Value());
  }
  return out;
}

Value CallArguments::read_args(PyObject* args) {
  if (args == Py_None) return {};
  if (PyDict_Check(args)) return read_by_name(args);
  if (!PyList_Check(args) || is_the_one_list(args)) return read_one(0, args);
  List out;
  out.reserve(static_cast<std::size_t>(PyList_GET_SIZE(args)));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args); ++i) {  // the list may change while an array is asked
    const nb::object item = nb::borrow(PyList_GET_ITEM(args, i));
    out.push_back(read_one(static_cast<std::size_t>(i), item.ptr()));
  }
  return out;
}

Result<Value> CallArguments::read(PyObject* args) {
  return guarded(info_, [&] { return read_args(args); });
}

Result<List> CallArguments::read(std::span<PyObject* const> args) {
  return guarded(info_, [&] {
    List out;
    out.reserve(args.size());
    for (std::size_t i = 0; i < args.size(); ++i) out.push_back(read_one(i, args[i]));
    return out;
  });
}

void CallArguments::write_back(const Dict& mutated) const {
  for (const auto& [name, value] : mutated) {
    const std::size_t i = index_of(info_, name);
    const auto* tensor = value.get_if<Tensor>();
    if (i >= given_.size() || tensor == nullptr || !given_[i].is_valid() || !PyList_Check(given_[i].ptr())) continue;
    const nb::object items = to_list(tensor->reshaped(Shape{tensor->elements()}));
    if (PyList_SetSlice(given_[i].ptr(), 0, std::numeric_limits<Py_ssize_t>::max(), items.ptr()) != 0)
      throw nb::python_error();
  }
}

}  // namespace krt::python
