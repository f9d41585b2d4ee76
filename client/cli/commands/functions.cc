#include "client/cli/program.h"

namespace krt::cli {

void add_functions(Program& program) {
  auto module = std::make_shared<std::string>();
  CLI::App& command = program.command("functions", "List the functions of a module", [&program, module] {
    const Result<std::vector<std::string>> names = program.runtime().list_functions(*module);
    if (!names.ok()) return program.failed(names.status());
    if (program.json()) {
      program.print_json(List(names->begin(), names->end()));
    } else {
      std::string text;
      for (const std::string& name : *names) text += name + "\n";
      program.print(text);
    }
    return int{kDone};
  });
  command.add_option("MODULE", *module, "Name of the module")->required();
}

}  // namespace krt::cli
