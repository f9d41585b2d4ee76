#pragma once
// Engine: the runtime in this process, as krt.MojoRuntime(mode="local") drives it. Its methods are called with the
// GIL held and release it while a kernel runs. Those that are not execute() throw StatusError, which Python sees as
// krt.MojoRuntimeError.

#include <nanobind/nanobind.h>

#include <optional>
#include <span>
#include <string>

#include "client/python/src/call_arguments.h"
#include "runtime/runtime.h"

namespace krt::python {

// A kernel's own status, thrown where the caller has no place for it; becomes krt.KernelStatusError.
struct KernelRefusal {
  std::string function;
  StatusEntry status;
};

// How a result is given without the dict that it is in: what krt.decode is made of.
struct Plain {
  bool on = false;    // off: the result as it is
  std::string field;  // this field alone; empty: the dict
  int like = -1;      // arrays of as many values as this argument has take its shape and, where it is a half, its type
};

class Engine {
 public:
  Engine(Arrays arrays, int threads);

  // The dict that docs/python.md describes. A call that fails is a dict too; only signal handlers (Ctrl-C) raise, and
  // `on_event`, a Python function or None: its exception ends the call.
  nb::object execute(nb::handle module, nb::handle function, nb::handle args, nb::handle request_id,
                     std::optional<double> timeout, nb::handle on_event);
  nb::object health();
  nb::object list_modules();
  nb::object list_functions(std::string_view module);
  nb::object describe(std::string_view module, std::string_view function);

  nb::object put(nb::handle value, std::string_view name, bool copy);
  nb::object get(Handle handle);
  void free(Handle handle);
  nb::object list_handles();

  // A function resolved once, and its result without the envelope of execute(). `info` is of this engine.
  const FunctionInfo& resolve(std::string_view module, std::string_view function);
  nb::object call(const FunctionInfo& info, const Plain& plain, std::span<PyObject* const> args);

  [[nodiscard]] int threads() { return runtime_.arena().threads(); }

 private:
  ExecuteResult run(std::string_view module, std::string_view function, PyObject* args, const CallOptions& options,
                    Style& style);
  // Hands events to a Python function. What that raises ends the call and is kept in `raised`.
  EventSink listener(nb::handle on_event, std::exception_ptr& raised);
  [[nodiscard]] Style as_lists() const;
  [[nodiscard]] nb::object self() const;  // the Python object of this engine

  Runtime runtime_;
  Arrays arrays_;
};

}  // namespace krt::python
