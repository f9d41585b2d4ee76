#pragma once
// Python's arrays to Tensor and back, without a copy: both sides see the same memory, each keeps it alive.

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "runtime/core/tensor.h"

namespace krt::python {

namespace nb = nanobind;

// Thrown where an argument cannot be taken.
struct Refusal {
  std::string text;      // stands behind "argument 'x' "; empty: "must be <type>, got <got>"
  std::string got = {};  // a Python type
};

// What results become (`arrays=` of MojoRuntime).
enum class Arrays {
  kAuto,   // numpy arrays where an argument was an array, else lists
  kList,   // lists, nested by shape
  kNumpy,  // numpy arrays
  kTorch,  // torch tensors
  kSame,   // the kind of the first array among the arguments; numpy where there is none
};

// The tensor that `object` exports: by the buffer protocol (numpy, bytes, array.array, memoryview), by DLPack's
// exchange table (torch), or by `__dlpack__`; nullopt where it does none of these. The tensor keeps the memory
// alive and may be destroyed in any thread, with or without the GIL.
// Refused: what is not on the CPU, not packed row-major, byte-swapped, of a dtype that no kernel takes, or has
// more than four dimensions.
std::optional<Tensor> tensor_from(PyObject* object);

// An array over the tensor's memory. `kind` is kNumpy or kTorch. numpy has no bf16: it gets the same values in f32.
nb::object to_array(const Tensor& tensor, Arrays kind);
// A list of Python numbers, nested by shape; rank 0 is a number.
nb::object to_list(const Tensor& tensor);

}  // namespace krt::python
