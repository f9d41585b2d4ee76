#pragma once
// Runtime: executes the functions of a registry in this process.
//
//   krt::Runtime runtime(krt::builtin_registry());            // modules/builtin.h
//   auto r = runtime.execute("llmk.residual", "residual_add_flat", krt::List{a, b, 6});
//   r.result["out"]

#include <memory>

#include "runtime/api.h"
#include "runtime/registry/registry.h"

namespace krt {

struct RuntimeOptions {
  int threads = 0;  // of the arena that kernels share; 0: as many as the machine has
  std::size_t max_handles = 65536;
  std::size_t max_handle_bytes = std::size_t{64} << 30U;
};

class Runtime final : public RuntimeApi {
 public:
  // Freezes a registry that is not. Throws std::invalid_argument for one that cannot be frozen, StatusError for a
  // KRT_ISA that names no instruction set.
  explicit Runtime(Registry registry, const RuntimeOptions& options = {});

  Result<Health> health() override;
  Result<std::vector<ModuleInfo>> list_modules() override;
  Result<std::vector<std::string>> list_functions(std::string_view module) override;
  Result<Value> describe(std::string_view module, std::string_view function) override;
  ExecuteResult execute(std::string_view module, std::string_view function, const Value& args = {},
                        const CallOptions& options = {}) override;
  std::vector<ExecuteResult> execute_batch(std::span<const BatchItem> items) override;
  Result<Function> function(std::string_view module, std::string_view name) override;
  Result<Handle> put(Value value, std::string name = {}) override;
  Result<Value> get(Handle handle) override;
  Status free(Handle handle) override;
  Result<std::vector<HandleTable::Entry>> list_handles() override;

  // A call by name with positional arguments and without the envelope of execute.
  Result<Value> call(std::string_view module, std::string_view function, std::span<const Value> args);

  [[nodiscard]] const Registry& registry() const { return registry_; }
  [[nodiscard]] Arena& arena() { return arena_; }
  [[nodiscard]] HandleTable& handles() { return handles_; }

 private:
  friend class Function;
  Result<Value> call(const FunctionInfo& info, std::span<const Value> args);
  Status execute(const Value& args, const CallOptions& options, ExecuteResult& r);

  Registry registry_;
  Arena arena_;
  HandleTable handles_;
  const Clock::time_point started_ = Clock::now();
};

}  // namespace krt
