#pragma once
// RuntimeApi: the object people use. One interface, two objects: Runtime (in this process, runtime/runtime.h) and
// RemoteRuntime (over gRPC, client/cpp/remote_runtime.h). Every method may be called from any thread.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/value.h"
#include "runtime/exec/context.h"
#include "runtime/registry/declaration.h"

namespace krt {

struct Health {
  bool ok = false;
  std::string version;
  double uptime_seconds = 0;
  std::string engine;  // "mojo": what the public clients ask for
};

struct ModuleInfo {
  std::string name;
  std::string engine;
  std::vector<std::string> functions;  // sorted
};

struct CallOptions {
  std::string request_id;  // comes back with the result; any UTF-8 text
  CallControl control = {};
  bool arguments_by_value = false;  // see Context
  // Gets what the function answers before its result, in the thread that executes or, remotely, the one that called.
  EventSink on_event = {};
};

// What execute answers. `error` is OK where the kernel ran: its own refusals are in `status`, not in `error`.
struct ExecuteResult {
  std::string module, function, request_id;
  Status error = {};
  Value result = {};
  std::int64_t status = 0;  // the kernel's numeric status, where its result has one
  std::string status_name = "ok";
  double latency_ms = 0;             // inside the runtime
  std::string engine_used = "none";  // the variant that served the call; "none" where nothing ran
  Dict mutated = {};                 // arguments that were changed in place, by parameter name

  [[nodiscard]] bool success() const { return error.ok(); }
};

struct BatchItem {
  std::string module, function;
  Value args;
  CallOptions options = {};
};

class RuntimeApi;

// A function resolved once. Valid while its runtime is.
class Function {
 public:
  // The kernel's value. The same checks as execute, without its envelope.
  Result<Value> operator()(std::span<const Value> args) const;
  template <class... A>
  requires(std::constructible_from<Value, A&&>&&...) Result<Value>
  operator()(A&&... args) const {
    const std::array<Value, sizeof...(A)> values{Value(std::forward<A>(args))...};
    return (*this)(std::span<const Value>(values));
  }

 private:
  friend class Runtime;
  friend class RemoteRuntime;
  Result<Value> call_by_name(std::span<const Value> args) const;
  Function(RuntimeApi& runtime, const FunctionInfo* info, std::string module, std::string name)
      : runtime_(&runtime), info_(info), module_(std::move(module)), name_(std::move(name)) {}
  RuntimeApi* runtime_;
  const FunctionInfo* info_;  // null where the runtime is remote
  std::string module_, name_;
};

class RuntimeApi {
 public:
  RuntimeApi() = default;
  RuntimeApi(const RuntimeApi&) = delete;
  RuntimeApi& operator=(const RuntimeApi&) = delete;
  virtual ~RuntimeApi() = default;

  virtual Result<Health> health() = 0;
  virtual Result<std::vector<ModuleInfo>> list_modules() = 0;
  virtual Result<std::vector<std::string>> list_functions(std::string_view module) = 0;
  // The whole declaration as a dict (FunctionInfo::describe); with function "", the module's name, summary and
  // the declarations of all its functions.
  virtual Result<Value> describe(std::string_view module, std::string_view function) = 0;

  // `args`: null is no argument, a list is positional, a dict is by name, anything else is the one argument
  // (docs/protocol.md has the case of a function of one list parameter).
  virtual ExecuteResult execute(std::string_view module, std::string_view function, const Value& args = {},
                                const CallOptions& options = {}) = 0;
  // Results in order; one failure spoils no other.
  virtual std::vector<ExecuteResult> execute_batch(std::span<const BatchItem> items) = 0;
  // Resolves once, calls many times.
  virtual Result<Function> function(std::string_view module, std::string_view name) = 0;

  // Values that stay in the runtime. A handle may be given wherever a list or a tensor may.
  virtual Result<Handle> put(Value value, std::string name = {}) = 0;
  virtual Result<Value> get(Handle handle) = 0;
  virtual Status free(Handle handle) = 0;
  virtual Result<std::vector<HandleTable::Entry>> list_handles() = 0;
};

}  // namespace krt
