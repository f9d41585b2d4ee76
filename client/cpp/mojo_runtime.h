#pragma once
// MojoRuntime: the same program against the kernels in this process or those of a server.
//
//   krt::MojoRuntime runtime("remote", "127.0.0.1:50099");
//   krt::ExecuteResult r = runtime.execute("llmk.residual", "residual_add_flat", krt::List{a, b, 6});

#include <memory>

#include "runtime/api.h"

namespace krt {

// "local": the builtin kernels in this process; "remote": those of the server at `address` (which need not be there
// yet). Another mode is invalid_arguments.
Result<std::unique_ptr<RuntimeApi>> connect(std::string_view mode, std::string_view address = "127.0.0.1:50099");

class MojoRuntime {
 public:
  // Throws std::invalid_argument for another mode than connect() knows.
  explicit MojoRuntime(std::string_view mode = "local", std::string_view address = "127.0.0.1:50099");

  Result<Health> health() { return api_->health(); }
  Result<std::vector<ModuleInfo>> list_modules() { return api_->list_modules(); }
  Result<std::vector<std::string>> list_functions(std::string_view module) { return api_->list_functions(module); }
  Result<Value> describe(std::string_view module, std::string_view function = {}) {
    return api_->describe(module, function);
  }
  ExecuteResult execute(std::string_view module, std::string_view function, const Value& args = {},
                        std::string request_id = {}) {
    return api_->execute(module, function, args, {std::move(request_id), {}, false});
  }
  std::vector<ExecuteResult> execute_batch(std::span<const BatchItem> items) { return api_->execute_batch(items); }
  Result<Function> function(std::string_view module, std::string_view name) { return api_->function(module, name); }

  // The rest: handles, deadlines, cancellation.
  [[nodiscard]] RuntimeApi& api() { return *api_; }

 private:
  std::unique_ptr<RuntimeApi> api_;
};

}  // namespace krt
