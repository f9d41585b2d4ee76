#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "client/cli/input.h"
#include "client/cli/program.h"
#include "client/cli/text.h"
#include "runtime/codec/json.h"

namespace krt::cli {
namespace {

// The JSON itself, "@file", or "-" for standard input.
std::string argument_text(const std::string& given) {
  if (given == "-") return read_all(STDIN_FILENO, "standard input");
  if (!given.starts_with('@')) return given;
  const std::string path = given.substr(1);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw UsageError("cannot read " + krt::quoted(path) + ": " + std::strerror(errno));
  const std::unique_ptr<const int, void (*)(const int*)> closer(&fd, [](const int* f) { ::close(*f); });
  return read_all(fd, krt::quoted(path));
}

std::string result_text(const ExecuteResult& r) {
  const auto* dict = r.result.get_if<Dict>();
  if (dict == nullptr) return plain(r.result) + "\n";
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : *dict)
    rows.push_back({name, name == "status" ? plain(value) + " " + r.status_name : preview(value)});
  for (const auto& [name, value] : r.mutated) rows.push_back({name, preview(value) + " (changed in place)"});
  return columns(rows);
}

struct Options {
  std::string module, function, args;
  double timeout = 0;
  CallOptions call;
};

ExecuteResult execute(RuntimeApi& runtime, Options& o) {
  Result<Value> args = parse_json_args(argument_text(o.args));
  if (!args.ok()) {
    ExecuteResult r;
    r.module = o.module;
    r.function = o.function;
    r.request_id = o.call.request_id;
    r.engine_used = "none";
    r.error = args.status();
    return r;
  }
  o.call.arguments_by_value = true;
  if (o.timeout > 0)
    o.call.control.deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(o.timeout));
  return runtime.execute(o.module, o.function, *args, o.call);
}

}  // namespace

void add_execute(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App& command = program.command("execute", "Call a function by name", [&program, o] {
    const ExecuteResult r = execute(program.runtime(), *o);
    if (program.json()) program.print(to_json(r) + "\n");
    if (!r.success()) return program.failed(r.error);
    if (!program.json()) program.print(result_text(r));
    return int{kDone};
  });
  command.add_option("MODULE", o->module, "Name of the module")->required();
  command.add_option("FUNCTION", o->function, "Name of the function")->required();
  command
      .add_option("--args-json", o->args,
                  "Arguments as JSON: an array is positional, an object by name; @FILE reads a file, - standard input")
      ->type_name("JSON");
  command.add_option("--request-id", o->call.request_id, "Comes back with the result")->type_name("TEXT");
  command.add_option("--timeout", o->timeout, "Seconds after which the call is given up")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("S");
}

}  // namespace krt::cli
