// krt._native: the runtime in this process. Private: people use krt.MojoRuntime, krt.libraries and krt.decode.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "client/python/src/engine.h"
#include "client/python/src/interrupt.h"
#include "runtime/version.h"

namespace krt::python {
namespace {

// A function of an engine, resolved once.
struct BoundFunction {
  nb::object keeps_engine;
  Engine* engine;
  const FunctionInfo* info;
  Plain plain;
};

// krt.errors.error_for and krt.KernelStatusError, kept for good.
PyObject *g_error_for = nullptr, *g_kernel_error = nullptr;

Arrays arrays_named(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames{"auto", "list", "numpy", "torch", "same"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<Arrays>(i);
  throw StatusError(invalid("arrays is one of auto, list, numpy, torch, same; got " + quoted(name)));
}

template <class... Args>
void raise(PyObject* make, Args&&... args) {
  try {
    const nb::object error = nb::handle(make)(std::forward<Args>(args)...);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  } catch (nb::python_error& e) {
    e.restore();
  }
}

void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const StatusError& e) {
    raise(g_error_for, to_str(name_of(e.status().reason())), to_str(e.status().message()));
  } catch (const KernelRefusal& e) {
    nb::dict details;
    details["status"] = e.status.code;
    raise(g_kernel_error, to_str(e.status.name), to_str(e.function + ": " + std::string(e.status.meaning)), details);
  }
}

void bind_engine(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Engine>(m, "Engine", nb::is_weak_referenceable(), "The runtime in this process.")
      .def(
          "__init__",
          [](Engine* self, std::string_view arrays, int threads) { new (self) Engine(arrays_named(arrays), threads); },
          "arrays"_a = "auto", "threads"_a = 0)
      .def("execute", &Engine::execute, "module"_a.none(), "function"_a.none(), "args"_a = nb::none(),
           "request_id"_a = nb::none(), "timeout"_a = nb::none(), "on_event"_a = nb::none(),
           nb::sig("def execute(self, module: str, function: str, args: object = None, "
                   "request_id: str | None = None, timeout: float | None = None, "
                   "on_event: typing.Callable[[typing.Any], object] | None = None) -> dict[str, typing.Any]"))
      .def("health", &Engine::health, nb::sig("def health(self) -> dict[str, typing.Any]"))
      .def("list_modules", &Engine::list_modules, nb::sig("def list_modules(self) -> list[dict[str, typing.Any]]"))
      .def("list_functions", &Engine::list_functions, "module"_a,
           nb::sig("def list_functions(self, module: str) -> list[str]"))
      .def("describe", &Engine::describe, "module"_a, "function"_a = "",
           nb::sig("def describe(self, module: str, function: str = '') -> dict[str, typing.Any]"))
      .def("put", &Engine::put, "value"_a.none(), "name"_a = "", "copy"_a = true,
           nb::sig("def put(self, value: object, name: str = '', copy: bool = True) -> typing.Any"))
      .def(
          "get",
          [](Engine& e, std::uint64_t runtime, std::uint64_t id) {
            return e.get({runtime, id});
          },
          "runtime"_a, "id"_a, nb::sig("def get(self, runtime: int, id: int) -> typing.Any"))
      .def(
          "free",
          [](Engine& e, std::uint64_t runtime, std::uint64_t id) {
            e.free({runtime, id});
          },
          "runtime"_a, "id"_a)
      .def(
          "discard",
          [](Engine& e, std::uint64_t runtime, std::uint64_t id) {
            e.free({runtime, id});
          },
          "runtime"_a, "id"_a, "free(), for a handle that is destroyed.")
      .def("list_handles", &Engine::list_handles, nb::sig("def list_handles(self) -> list[dict[str, typing.Any]]"))
      .def(
          "function",
          [](nb::handle self, std::string_view module, std::string_view function) {
            auto* engine = nb::cast<Engine*>(self);
            return BoundFunction{nb::borrow(self), engine, &engine->resolve(module, function), {}};
          },
          "module"_a, "function"_a, "A function resolved once: called with its arguments, it gives its result.")
      .def(
          "plain_function",
          [](nb::handle self, std::string_view module, std::string_view function, std::string field, int like) {
            auto* engine = nb::cast<Engine*>(self);
            return BoundFunction{
                nb::borrow(self), engine, &engine->resolve(module, function), {true, std::move(field), like}};
          },
          "module"_a, "function"_a, "field"_a, "like"_a,
          "The same without the dict: one field of the result (or, with '', all of it), in the kind, shape and half "
          "type "
          "of argument number `like` (or -1). A status that is not the kernel's ok raises.")
      .def_prop_ro("threads", &Engine::threads);
}

}  // namespace

NB_MODULE(_native, m) {
  using namespace nb::literals;
  m.doc() = "The runtime in this process. Private: use krt.MojoRuntime, krt.libraries and krt.decode.";
  m.attr("__version__") = kVersion;
  set_main_thread();

  nb::register_exception_translator(translate);
  nb::class_<BoundFunction>(m, "Function", "A function of an engine, resolved once.")
      .def(
          "__call__",
          [](const BoundFunction& f, nb::args args) {
            return f.engine->call(*f.info, f.plain, {PySequence_Fast_ITEMS(args.ptr()), args.size()});
          },
          nb::sig("def __call__(self, *args: object) -> typing.Any"))
      .def_prop_ro("signature", [](const BoundFunction& f) { return f.info->signature(); });
  bind_engine(m);

  m.def(
      "_install",
      [](nb::object error_for, nb::object kernel_error, nb::object handle_class, nb::object handle_of) {
        g_error_for = error_for.release().ptr();
        g_kernel_error = kernel_error.release().ptr();
        set_handle_class(std::move(handle_class), std::move(handle_of));
      },
      "Gives the module the Python classes that it makes: errors and handles.");
  m.def("_set_main_thread", &set_main_thread, "For the child after fork().");
  m.def(
      "_leak", [](nb::object object) { object.release(); }, "Keeps an object for good: never destroyed.");
  m.def(
      "_tensor",
      [](nb::handle object, std::string_view arrays) {
        const Value value = ValueReader().read(object.ptr());
        const Tensor& t = *value.get_if<Tensor>();
        return nb::make_tuple(reinterpret_cast<std::uintptr_t>(t.data()), type_text(value), t.writable(),
                              to_python(value, {arrays_named(arrays), {}}));
      },
      "object"_a, "arrays"_a = "numpy",
      nb::sig("def _tensor(object: object, arrays: str = 'numpy') -> tuple[int, str, bool, typing.Any]"),
      "What a kernel would be given for an array: address, type, whether it may be written to; and the array that its "
      "memory becomes as a result. For tests.");
  m.def(
      "_bare", [](nb::handle) {}, "Does nothing: what a call costs (bench.py).");
}

}  // namespace krt::python
