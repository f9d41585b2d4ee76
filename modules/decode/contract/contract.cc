#include "modules/decode/contract/contract.h"

#include "runtime/registry/module_builder.h"

namespace krt::decode {

std::string_view decode_status_name(std::int64_t code) {
  return status_name(kStatuses, code, "decode_code_out_of_range");
}

void register_contract(Registry& registry) {
  ModuleBuilder m(registry, "decode", kModuleSummary);
  m.function<decode_status_name>("status_name", "The name of a status code of this family",
                                 {{"code", "a status; any other number is decode_code_out_of_range"}})
      .example("[604]");
}

}  // namespace krt::decode
