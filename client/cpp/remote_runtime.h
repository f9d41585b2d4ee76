#pragma once
// RemoteRuntime: a runtime behind a krt server, with the interface of the one in this process. Programs are written
// against RuntimeApi and work with either.
//
// Where the two differ, and why:
// - arguments travel by value. A kernel that changes one in place changes a copy on the server; the changed bytes are
//   then written to the caller's tensor where it is writable, and are in ExecuteResult::mutated in any case
// - a message has a limit (64 MiB): put large values once and name them by their handle
// - nobody may answer: compute_runtime_unavailable

#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/api.h"

namespace krt {

struct RemoteOptions {
  std::string address = "127.0.0.1:50099";                 // HOST:PORT
  std::size_t max_message_bytes = std::size_t{64} << 20U;  // of one request or response; the server has its own
  // Of calls that have no CallControl: inventory, handles. Execution takes as long as its own deadline says.
  std::chrono::milliseconds timeout{30000};
};

class RemoteRuntime final : public RuntimeApi {
 public:
  // Does not wait for the server; the connection is made, and made again, when a call needs it.
  explicit RemoteRuntime(RemoteOptions options = {});
  ~RemoteRuntime() override;

  Result<Health> health() override;  // ok: it serves and is not about to stop
  Result<std::vector<ModuleInfo>> list_modules() override;
  Result<std::vector<std::string>> list_functions(std::string_view module) override;
  Result<Value> describe(std::string_view module, std::string_view function) override;
  ExecuteResult execute(std::string_view module, std::string_view function, const Value& args = {},
                        const CallOptions& options = {}) override;
  // One message for all items, and one for all results, unless an item has a CallControl or a listener of its own.
  std::vector<ExecuteResult> execute_batch(std::span<const BatchItem> items) override;
  Result<Function> function(std::string_view module, std::string_view name) override;
  Result<Handle> put(Value value, std::string name = {}) override;
  Result<Value> get(Handle handle) override;
  Status free(Handle handle) override;
  Result<std::vector<HandleTable::Entry>> list_handles() override;

 private:
  class Channel;
  using Names = std::vector<std::string>;

  [[nodiscard]] CallControl within_timeout() const;
  Result<Names> parameters(const std::string& module, const std::string& function);
  void write_back(const Value& args, const ExecuteResult& result);

  const RemoteOptions options_;
  const std::unique_ptr<Channel> channel_;
  std::mutex mutex_;
  std::map<std::string, Names> parameters_;  // of functions that changed positional arguments, by full name
};

}  // namespace krt
