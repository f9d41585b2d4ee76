#include "modules/builtin.h"

#include <stdexcept>

namespace krt {

Registry builtin_registry() {
  Registry registry;
  register_builtin(registry);
  const Status frozen = registry.freeze();
  if (!frozen.ok()) throw std::logic_error(frozen.message());  // a build that cannot be served
  return registry;
}

}  // namespace krt
