#include "runtime/version.h"

#include "client/cli/program.h"

namespace krt::cli {

void add_version(Program& program) {
  program.command("version", "Print the version", [&program] {
    if (program.json())
      program.print_json(Dict{{"version", kVersion}});
    else
      program.print("krt " + std::string(kVersion) + "\n");
    return int{kDone};
  });
}

}  // namespace krt::cli
