#include "client/cli/program.h"
#include "runtime/version.h"

namespace krt::cli {
namespace {

// Text as roff has it: a leading dot or quote is a command there, a hyphen a dash.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool starts_line = out.empty() || out.back() == '\n';
    if (starts_line && (c == '.' || c == '\'')) out += "\\&";
    out += c == '-' ? "\\-" : c == '\\' ? "\\e" : std::string(1, c);
  }
  return out;
}

std::string options(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames() == std::vector<std::string>{"help"}) continue;
    const std::string env = option->get_envname();
    out += ".TP\n.B " + roff(option->get_name(option->get_positional())) + "\n" + roff(option->get_description()) +
           (env.empty() ? "" : " (" + roff(env) + ")") + "\n";
  }
  return out;
}

std::string manual(const CLI::App& app) {
  std::string out = ".TH KRT 1 \"\" \"krt " + std::string(kVersion) + "\"\n.SH NAME\n" + "krt \\- " +
                    roff("kernels of LLM inference by name, in this process or on a server") +
                    "\n.SH SYNOPSIS\n.B krt\n[OPTIONS] COMMAND [ARGUMENTS]\n.SH OPTIONS\n" + options(app);
  out += ".SH COMMANDS\n";
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    out += ".SS " + sub->get_name() + "\n" + roff(sub->get_description()) + "\n" + options(*sub);
  return out + ".SH NOTES\n.nf\n" + roff(app.get_footer()) + "\n.fi\n";
}

}  // namespace

void add_manual(Program& program) {
  program.command("manual", "Print the manual page (roff)", [&program] {
    program.print(manual(program.app()));
    return int{kDone};
  });
}

}  // namespace krt::cli
