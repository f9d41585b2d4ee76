// Any function with any JSON arguments: two bytes choose the function, the rest is the text. No crash, no `internal`,
// and the same answer when called again.

#include <cstdlib>
#include <iostream>

#include "modules/builtin.h"
#include "runtime/codec/json.h"
#include "runtime/runtime.h"

namespace {

krt::Runtime& runtime() {
  static krt::Runtime instance(krt::builtin_registry(), {.threads = 1, .max_handles = 16});
  return instance;
}

// In the order of their names; a kernel that is added moves the choice of a corpus, not its texts.
const std::vector<const krt::FunctionInfo*>& functions() {
  static const std::vector<const krt::FunctionInfo*> all = runtime().registry().all();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const krt::FunctionInfo& info = *functions()[(data[0] + 256U * data[1]) % functions().size()];
  const krt::Result<krt::Value> args =
      krt::parse_json_args(std::string_view(reinterpret_cast<const char*>(data) + 2, size - 2));
  if (!args.ok()) return 0;
  krt::CallOptions options;
  options.arguments_by_value = true;
  const krt::ExecuteResult r = runtime().execute(info.module, info.name, *args, options);
  if (r.error.reason() == krt::Reason::kInternal) {
    std::cerr << r.error.message() << '\n';
    std::abort();
  }
  static_cast<void>(krt::to_json(r));
  return 0;
}
