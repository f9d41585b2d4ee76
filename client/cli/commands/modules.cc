#include "client/cli/program.h"
#include "client/cli/text.h"

namespace krt::cli {
namespace {

Value as_value(const ModuleInfo& module) {
  return Dict{{"name", module.name},
              {"engine", module.engine},
              {"functions", List(module.functions.begin(), module.functions.end())}};
}

}  // namespace

void add_modules(Program& program) {
  program.command("modules", "List the modules and how many functions each has", [&program] {
    const Result<std::vector<ModuleInfo>> modules = program.runtime().list_modules();
    if (!modules.ok()) return program.failed(modules.status());
    List list;
    std::vector<std::vector<std::string>> rows;
    for (const ModuleInfo& module : *modules) {
      list.push_back(as_value(module));
      rows.push_back({module.name, std::to_string(module.functions.size())});
    }
    if (program.json())
      program.print_json(std::move(list));
    else
      program.print(columns(rows));
    return int{kDone};
  });
}

}  // namespace krt::cli
