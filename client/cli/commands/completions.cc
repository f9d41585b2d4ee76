#include "client/cli/program.h"

namespace krt::cli {
namespace {

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The long options of `app`, each with its description.
std::vector<std::pair<std::string, std::string>> options(const CLI::App& app) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) out.emplace_back(name, option->get_description());
  return out;
}

std::string option_words(const CLI::App& app) {
  std::string out;
  for (const auto& [name, text] : options(app)) out += " --" + name;
  return out;
}

// The command is the first word that is no option; behind it stand the names of modules and functions.
constexpr std::string_view kBash = R"bash(_krt() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= i words=
  local -a operands=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* ]] && continue
    if [[ -z $command ]]; then command=${COMP_WORDS[i]}; else operands+=("${COMP_WORDS[i]}"); fi
  done
  case $command in
    '') words="@COMMANDS@" ;;
@OPTIONS@  esac
  words+="@GLOBALS@"
  case $command:${#operands[@]} in
    functions:0 | describe:0 | execute:0) words+=" $(krt modules 2>/dev/null | cut -d' ' -f1)" ;;
    execute:1) words+=" $(krt functions "${operands[0]}" 2>/dev/null)" ;;
    completions:0) words+=" bash zsh fish" ;;
  esac
  case $prev in
    --format) words="text json" ;;
    --server | --args-json) COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _krt krt
)bash";

void fill_in(std::string& text, std::string_view placeholder, const std::string& value) {
  text.replace(text.find(placeholder), placeholder.size(), value);
}

std::string bash(const CLI::App& app) {
  std::string names, cases;
  for (const CLI::App* sub : subcommands(app)) {
    names += sub->get_name() + " ";
    cases += "    " + sub->get_name() + ") words=\"" + option_words(*sub) + "\" ;;\n";
  }
  std::string script(kBash);
  fill_in(script, "@COMMANDS@", names);
  fill_in(script, "@OPTIONS@", cases);
  fill_in(script, "@GLOBALS@", option_words(app));
  return script;
}

std::string zsh(const CLI::App& app) {
  return "#compdef krt\nautoload -U +X bashcompinit && bashcompinit\n" + bash(app);
}

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return out + "'";
}

std::string fish(const CLI::App& app) {
  std::string out = "complete -c krt -f\n";
  for (const auto& [name, text] : options(app)) out += "complete -c krt -l " + name + " -d " + fish_quoted(text) + "\n";
  for (const CLI::App* sub : subcommands(app)) {
    const std::string& command = sub->get_name();
    out +=
        "complete -c krt -n __fish_use_subcommand -a " + command + " -d " + fish_quoted(sub->get_description()) + "\n";
    const std::string option = "complete -c krt -n '__fish_seen_subcommand_from " + command + "' -l ";
    for (const auto& [name, text] : options(*sub)) out.append(option).append(name + " -d " + fish_quoted(text) + "\n");
  }
  return out +
         "complete -c krt -n '__fish_seen_subcommand_from functions describe execute' -a "
         "\"(krt modules 2>/dev/null | cut -d' ' -f1)\"\n";
}

}  // namespace

void add_completions(Program& program) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command = program.command("completions", "Print the completion script of a shell", [&program, shell] {
    program.print(*shell == "bash" ? bash(program.app()) : *shell == "zsh" ? zsh(program.app()) : fish(program.app()));
    return int{kDone};
  });
  command.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

}  // namespace krt::cli
