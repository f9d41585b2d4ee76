#pragma once
// The Python arguments of one call, on their way in and, where a kernel changes lists in place, back out.

#include <string>
#include <vector>

#include "client/python/src/values.h"
#include "runtime/registry/declaration.h"

namespace krt::python {

class CallArguments {
 public:
  // `info` outlives this.
  explicit CallArguments(const FunctionInfo& info);

  // The args of execute: None, a list (positional), a dict (by name), or the one argument. A failure names the
  // function and the argument.
  Result<Value> read(PyObject* args);
  // Positional arguments.
  Result<List> read(std::span<PyObject* const> args);

  [[nodiscard]] bool saw_array() const { return reader_.saw_array(); }
  [[nodiscard]] Arrays results_as(Arrays arrays) const { return reader_.results_as(arrays); }
  // Gives the lists that a kernel changed in place their new elements.
  void write_back(const Dict& mutated) const;

 private:
  // Throws Failure.
  Value read_one(std::size_t i, PyObject* object);
  Value read_args(PyObject* args);
  Value read_by_name(PyObject* dict);
  [[nodiscard]] bool is_the_one_list(PyObject* args) const;

  const FunctionInfo& info_;
  const bool in_place_;  // some parameter is changed in place
  ValueReader reader_;
  std::vector<nb::object> given_;  // by parameter; only where in_place_
};

}  // namespace krt::python
