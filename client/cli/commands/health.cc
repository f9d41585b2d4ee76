#include "client/cli/program.h"

namespace krt::cli {

void add_health(Program& program) {
  program.command("health", "Ask a server (--remote, else 127.0.0.1:50099) whether it serves", [&program] {
    const std::string& given = program.globals().remote;
    const std::string address = given.empty() ? std::string(kDefaultAddress) : given;
    const Result<Health> health = program.remote(address).health();
    if (!health.ok()) return program.failed(health.status());
    if (program.json()) {
      program.print_json(Dict{{"ok", health->ok},
                              {"version", health->version},
                              {"uptime_seconds", health->uptime_seconds},
                              {"engine", health->engine},
                              {"address", address}});
    } else {
      const auto seconds = std::to_string(static_cast<std::int64_t>(health->uptime_seconds));
      program.print(std::string(health->ok ? "serving" : "not serving") + ": " + address + ", version " +
                    health->version + ", engine " + health->engine + ", up " + seconds + " s\n");
    }
    return int{health->ok ? kDone : kFailed};
  });
}

}  // namespace krt::cli
