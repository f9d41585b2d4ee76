#pragma once
// Python objects to Values and back.
//
// A Python object                   becomes
// None, bool, int, float, str       null, bool, int (64 bits), float, string
// an array (tensors.h)              the tensor that it exports, in place; one of rank 0 is the number in it
// a list or tuple of numbers        a tensor: i64 where every number is an int, else f64
// any other list or tuple, a dict   a list, a dict (its keys are str); nested at most 64 deep
// krt.Handle                        the handle

#include <nanobind/nanobind.h>

#include "client/python/src/tensors.h"
#include "runtime/core/value.h"

namespace krt::python {

// What the arguments of one call are read with. Throws Refusal.
class ValueReader {
 public:
  // `keep_lists`: a list of numbers stays a list, and a tuple of them is read-only. For functions that change an
  // argument in place: they work on a copy of a list, which is written back, and never on one that is lost.
  explicit ValueReader(bool keep_lists = false) : keep_lists_(keep_lists) {}

  Value read(PyObject* object) { return read(object, 0); }

  [[nodiscard]] bool saw_array() const { return first_array_.is_valid(); }
  // What results become where the runtime's option is `arrays`.
  [[nodiscard]] Arrays results_as(Arrays arrays) const;

 private:
  Value read(PyObject* object, int depth);
  Value read_sequence(PyObject* object, int depth);
  Value read_dict(PyObject* object, int depth);
  std::optional<Value> read_array(PyObject* object);

  bool keep_lists_;
  nb::object first_array_;
};

// How a Value becomes a Python object.
struct Style {
  Arrays arrays;      // of tensors: kList, kNumpy or kTorch
  nb::handle engine;  // the runtime that handles belong to
};
nb::object to_python(const Value& value, const Style& style);
// Ill-formed UTF-8 (half a character of generated text) is replaced, never an error.
nb::object to_str(std::string_view text);

// The class krt.Handle and the function (engine, runtime, id) that gives the object of a handle. They are defined
// in Python, because the remote runtime has them too.
void set_handle_class(nb::object cls, nb::object object_of);
nb::object to_python(Handle handle, nb::handle engine);

}  // namespace krt::python
