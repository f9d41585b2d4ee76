#include "client/cpp/mojo_runtime.h"

#include <stdexcept>

#include "client/cpp/remote_runtime.h"
#include "modules/builtin.h"
#include "runtime/runtime.h"

namespace krt {

Result<std::unique_ptr<RuntimeApi>> connect(std::string_view mode, std::string_view address) {
  if (mode == "local") return std::unique_ptr<RuntimeApi>(std::make_unique<Runtime>(builtin_registry()));
  if (mode != "remote") return invalid("a runtime's mode is 'local' or 'remote', got " + quoted(mode));
  RemoteOptions options;
  options.address = address;
  return std::unique_ptr<RuntimeApi>(std::make_unique<RemoteRuntime>(std::move(options)));
}

MojoRuntime::MojoRuntime(std::string_view mode, std::string_view address) {
  Result<std::unique_ptr<RuntimeApi>> api = connect(mode, address);
  if (!api.ok()) throw std::invalid_argument(api.status().message());
  api_ = std::move(*api);
}

}  // namespace krt
