#include "client/python/src/engine.h"

#include <cmath>
#include <cstring>
#include <exception>

#include "client/python/src/interrupt.h"
#include "modules/builtin.h"
#include "runtime/core/half.h"
#include "runtime/registry/call.h"

namespace krt::python {
namespace {

template <class T>
T value_or_throw(Result<T> result) {
  if (!result.ok()) throw StatusError(result.status());
  return std::move(result).value();
}

void throw_unless_ok(Status status) {
  if (!status.ok()) throw StatusError(std::move(status));
}

std::optional<std::string_view> text_from(nb::handle object) {
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_Check(object.ptr()) ? PyUnicode_AsUTF8AndSize(object.ptr(), &size) : nullptr;
  if (utf8 != nullptr) return std::string_view(utf8, static_cast<std::size_t>(size));
  PyErr_Clear();
  return {};
}

Clock::time_point deadline_after(std::optional<double> seconds) {
  constexpr double kForever = 1e9;
  if (!seconds || !(*seconds < kForever)) return Clock::time_point::max();
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds));
}

// A dict of a fixed set of keys.
class DictWriter {
 public:
  DictWriter() : dict_(nb::steal(PyDict_New())) {}
  void set(PyObject* key, const nb::object& value) {
    if (PyDict_SetItem(dict_.ptr(), key, value.ptr()) != 0) throw nb::python_error();
  }
  nb::object take() { return std::move(dict_); }

 private:
  nb::object dict_;
};

struct Keys {
  static PyObject* intern(const char* text) { return PyUnicode_InternFromString(text); }
  PyObject *module = intern("module"), *function = intern("function"), *request_id = intern("request_id"),
           *success = intern("success"), *result = intern("result"), *status = intern("status"),
           *status_name = intern("status_name"), *error_code = intern("error_code"), *error = intern("error"),
           *latency_ms = intern("latency_ms"), *engine_used = intern("engine_used");
};
const Keys& keys() {
  static const auto* const kKeys = new Keys();
  return *kKeys;
}

nb::object envelope(const ExecuteResult& r, nb::handle module, nb::handle function, nb::object result) {
  const Keys& k = keys();
  DictWriter out;
  out.set(k.module, nb::borrow(module));
  out.set(k.function, nb::borrow(function));
  out.set(k.request_id, to_str(r.request_id));
  out.set(k.success, nb::bool_(r.success()));
  out.set(k.result, result);
  out.set(k.status, nb::int_(r.status));
  out.set(k.status_name, to_str(r.status_name));
  out.set(k.error_code, r.success() ? to_str("") : to_str(name_of(r.error.reason())));
  out.set(k.error, to_str(r.error.message()));
  out.set(k.latency_ms, nb::float_(r.latency_ms));
  out.set(k.engine_used, to_str(r.engine_used));
  return out.take();
}

ExecuteResult failed(Status why) {
  ExecuteResult r;
  r.error = std::move(why);
  r.engine_used = "none";
  return r;
}

Tensor copied(const Tensor& t) {
  Tensor copy = value_or_throw(Tensor::zeros(t.dtype(), t.shape()));
  if (t.bytes() != 0) std::memcpy(copy.mutable_data(), t.data(), t.bytes());
  return copy;
}

// The value with memory of its own.
Value detached(const Value& value) {
  if (const auto* tensor = value.get_if<Tensor>()) return copied(*tensor);
  if (const auto* list = value.get_if<List>()) {
    List out;
    for (const Value& v : *list) out.push_back(detached(v));
    return out;
  }
  if (const auto* dict = value.get_if<Dict>()) {
    Dict out;
    for (const auto& [name, v] : *dict) out.emplace_back(name, detached(v));
    return out;
  }
  return value;
}

// Where a plain function has no place for a status.
void throw_unless_kernel_ok(const FunctionInfo& info, const Value& out) {
  if (info.status_field < 0) return;
  const std::int64_t status =
      *(*out.get_if<Dict>())[static_cast<std::size_t>(info.status_field)].second.get_if<std::int64_t>();
  if (status == info.statuses.front().code) return;
  for (const StatusEntry& entry : info.statuses)
    if (entry.code == status) throw KernelRefusal{info.full_name(), entry};
  throw KernelRefusal{info.full_name(), {status, "unknown_status", "a status that is not in the kernel's table"}};
}

template <class Half>
Tensor rounded(const Tensor& f32, Half (*round)(float)) {
  std::vector<Half> out;
  out.reserve(static_cast<std::size_t>(f32.elements()));
  for (const float x : f32.as<float>()) out.push_back(round(x));
  return Tensor::own(std::move(out));
}

void make_like(const Value& model, Value& out) {
  const auto* m = model.get_if<Tensor>();
  auto* dict = out.get_if<Dict>();
  if (m == nullptr || dict == nullptr) return;
  for (auto& [name, value] : *dict) {
    auto* t = value.get_if<Tensor>();
    if (t == nullptr || t->elements() != m->elements()) continue;
    const bool f32 = t->dtype() == DType::kF32;
    if (f32 && m->dtype() == DType::kF16) *t = rounded<F16>(*t, to_f16);
    if (f32 && m->dtype() == DType::kBF16) *t = rounded<BF16>(*t, to_bf16);
    *t = t->reshaped(m->shape());
  }
}

}  // namespace

Engine::Engine(Arrays arrays, int threads) : runtime_(builtin_registry(), {.threads = threads}), arrays_(arrays) {}

// For what is no result of a kernel: lists, whatever the option says.
Style Engine::as_lists() const { return {Arrays::kList, self()}; }

nb::object Engine::self() const { return nb::find(this); }

ExecuteResult Engine::run(std::string_view module, std::string_view function, PyObject* args,
                          const CallOptions& options, Style& style) {
  Result<const FunctionInfo*> info = runtime_.registry().lookup(module, function);
  if (!info.ok()) return failed(info.status());
  CallArguments arguments(**info);
  Result<Value> value = arguments.read(args);
  if (!value.ok()) return failed(value.status());
  ExecuteResult r;
  {
    const nb::gil_scoped_release no_gil;
    r = runtime_.execute(module, function, *value, options);
  }
  style.arrays = arguments.results_as(arrays_);
  if (r.success()) arguments.write_back(r.mutated);
  return r;
}

EventSink Engine::listener(nb::handle on_event, std::exception_ptr& raised) {
  return [this, on_event, &raised](const Value& event) {
    const nb::gil_scoped_acquire gil;
    try {
      on_event(to_python(event, as_lists()));
    } catch (const nb::python_error&) {
      raised = std::current_exception();
    }
    if (raised) throw StatusError({Reason::kCancelled, "on_event raised an exception"});
  };
}

nb::object Engine::execute(nb::handle module, nb::handle function, nb::handle args, nb::handle request_id,
                           std::optional<double> timeout, nb::handle on_event) {
  const std::optional<std::string_view> module_name = text_from(module), function_name = text_from(function),
                                        id = request_id.is_none() ? "" : text_from(request_id);
  Style style = as_lists();
  ExecuteResult r;
  if (!module_name || !function_name || !id) {
    r = failed(invalid("module, function and request_id of execute are text"));
  } else {
    CallOptions options{.request_id = std::string(*id), .control = {.deadline = deadline_after(timeout)}};
    options.control.cancelled = interrupt_flag();
    std::exception_ptr raised;
    if (!on_event.is_none()) options.on_event = listener(on_event, raised);
    r = run(*module_name, *function_name, args.ptr(), options, style);
    if (raised) std::rethrow_exception(raised);
    raise_if_interrupted(options.control.cancelled);
    r.request_id = *id;
  }
  nb::object result = r.success() ? to_python(r.result, style) : nb::none();
  return envelope(r, module, function, std::move(result));
}

nb::object Engine::health() {
  const Health h = value_or_throw(runtime_.health());
  return to_python(
      Dict{{"ok", h.ok}, {"version", h.version}, {"uptime_seconds", h.uptime_seconds}, {"engine", h.engine}},
      as_lists());
}

nb::object Engine::list_modules() {
  List out;
  for (ModuleInfo& m : value_or_throw(runtime_.list_modules()))
    out.emplace_back(Dict{{"name", std::move(m.name)},
                          {"engine", std::move(m.engine)},
                          {"functions", List(m.functions.begin(), m.functions.end())}});
  return to_python(out, as_lists());
}

nb::object Engine::list_functions(std::string_view module) {
  const std::vector<std::string> names = value_or_throw(runtime_.list_functions(module));
  return to_python(List(names.begin(), names.end()), as_lists());
}

nb::object Engine::describe(std::string_view module, std::string_view function) {
  return to_python(value_or_throw(runtime_.describe(module, function)), as_lists());
}

nb::object Engine::put(nb::handle value, std::string_view name, bool copy) {
  FunctionInfo info;  // for the error texts
  info.module = "krt";
  info.name = "put";
  info.params = {{"value", "", "a value", {}, false, false}};
  PyObject* const args[] = {value.ptr()};
  List read = value_or_throw(CallArguments(info).read(args));
  const Handle handle = value_or_throw(runtime_.put(copy ? detached(read[0]) : std::move(read[0]), std::string(name)));
  return to_python(handle, self());
}

nb::object Engine::get(Handle handle) {
  const Arrays arrays = arrays_ == Arrays::kList || arrays_ == Arrays::kTorch ? arrays_ : Arrays::kNumpy;
  return to_python(detached(value_or_throw(runtime_.get(handle))), {arrays, self()});
}

void Engine::free(Handle handle) { throw_unless_ok(runtime_.free(handle)); }

nb::object Engine::list_handles() {
  List out;
  for (HandleTable::Entry& e : value_or_throw(runtime_.list_handles()))
    out.emplace_back(Dict{{"handle", handle_text(e.handle)},
                          {"name", std::move(e.name)},
                          {"type", std::move(e.type)},
                          {"bytes", static_cast<std::int64_t>(e.bytes)}});
  return to_python(out, as_lists());
}

const FunctionInfo& Engine::resolve(std::string_view module, std::string_view function) {
  return *value_or_throw(runtime_.registry().lookup(module, function));
}

nb::object Engine::call(const FunctionInfo& info, const Plain& plain, std::span<PyObject* const> args) {
  CallArguments arguments(info);
  const List given = value_or_throw(arguments.read(args));
  List storage;
  const std::span<const Value> values = value_or_throw(arrange(info, std::span<const Value>(given), storage));
  Context context{.arena = runtime_.arena(), .handles = runtime_.handles()};
  context.control.cancelled = interrupt_flag();
  Value out;
  Dict mutated;
  Status status;
  {
    const nb::gil_scoped_release no_gil;
    status = invoke(info, context, values, out, &mutated);
  }
  raise_if_interrupted(context.control.cancelled);
  throw_unless_ok(std::move(status));
  arguments.write_back(mutated);
  if (!plain.on) return to_python(out, {arguments.results_as(arrays_), self()});
  throw_unless_kernel_ok(info, out);
  if (plain.like >= 0 && static_cast<std::size_t>(plain.like) < given.size()) make_like(given[plain.like], out);
  const Value* field = plain.field.empty() ? &out : out.find(plain.field);
  const Arrays arrays = arguments.saw_array() ? arguments.results_as(Arrays::kSame) : Arrays::kList;
  return to_python(field != nullptr ? *field : out, {arrays, self()});
}

}  // namespace krt::python
