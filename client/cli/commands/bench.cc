#include "client/cli/program.h"
#if KRT_HAVE_BENCHES
#include "client/cli/text.h"
#include "modules/benches.h"
#endif

namespace krt::cli {
namespace {

struct Options {
  std::string name;
  bool list = false;
};

#if KRT_HAVE_BENCHES

std::string fixed(double x, const char* format) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, x);
  return text.data();
}

std::string row_text(const bench::Row& row) {
  if (!row.failure.empty()) return row.name + ": wrong values, not timed: " + row.failure + "\n";
  std::string line = row.name + std::string(row.name.size() < 56 ? 56 - row.name.size() : 1, ' ') +
                     fixed(row.value, "%10.4g ") + row.unit;
  if (!row.peer.empty()) line += fixed(row.ratio, ", %.3g") + fixed(row.peer_value, "x of %.4g by ") + row.peer;
  if (row.ceiling_share > 0) line += fixed(100 * row.ceiling_share, ", %.0f%% of the machine");
  return line + "\n";
}

int run(Program& program, const Options& o) {
  bench::Suite suite;
  register_benches(suite);
  bool any = false, wrong = false;
  for (const bench::Case& c : suite.cases()) {
    if (c.name.find(o.name) == std::string::npos) continue;
    any = true;
    if (o.list) {
      program.print(c.name + "\n");
      continue;
    }
    const bench::Row row = bench::run(c);
    wrong |= !row.failure.empty();
    program.print(program.json() ? bench::to_json(row) + "\n" : row_text(row));
  }
  if (!any) throw UsageError("no benchmark has " + krt::quoted(o.name) + " in its name; krt bench --list names them");
  return wrong ? kFailed : kDone;
}

#else

int run(Program&, const Options&) {
  throw UsageError("this build has no benchmarks; scripts/build makes one that has (cmake -DKRT_BENCHMARKS=ON)");
}

#endif

}  // namespace

void add_bench(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App& command =
      program.command("bench", "Check and time kernels on this machine", [&program, o] { return run(program, *o); });
  command.add_option("NAME", o->name, "Only those with NAME in their name");
  command.add_flag("--list", o->list, "Only print the names");
}

}  // namespace krt::cli
