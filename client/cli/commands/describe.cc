#include "client/cli/program.h"
#include "client/cli/text.h"

namespace krt::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// The members of each dict in the list `value`, in the order of `names`.
Rows rows_of(const Value& value, std::initializer_list<std::string_view> names) {
  Rows rows;
  const auto* list = value.get_if<List>();
  if (list == nullptr) return rows;
  for (const Value& entry : *list) {
    rows.emplace_back();
    for (const std::string_view name : names) rows.back().push_back(plain(entry[name]));
  }
  return rows;
}

std::string section(std::string_view title, const Rows& rows) {
  return rows.empty() ? "" : "\n" + std::string(title) + "\n" + columns(rows, 2);
}

std::string function_text(const Value& f) {
  const std::string module = plain(f["module"]), name = plain(f["name"]);
  std::string out = module + "." + name + "\n  " + plain(f["summary"]) + "\n  " + plain(f["signature"]) + "\n";
  if (const std::string details = plain(f["details"]); !details.empty()) out += "\n  " + details + "\n";
  out += section("Parameters", rows_of(f["params"], {"name", "type", "doc"}));
  const std::string result = plain(f["result_struct"]);
  out += section("Result" + (result.empty() ? "" : " " + result), rows_of(f["result_fields"], {"name", "type"}));
  out += section("Statuses", rows_of(f["statuses"], {"code", "name", "meaning"}));
  Rows capabilities;
  if (const auto* caps = f["capabilities"].get_if<Dict>())
    for (const auto& [key, value] : *caps) capabilities.push_back({key, plain(value)});
  out += section("Capabilities", capabilities);
  Rows variants;
  for (const auto& row : rows_of(f["variants"], {"name", "refused_by"}))
    variants.push_back({row[0], row[1] == "null" ? "runs here" : "refused here by " + row[1]});
  const std::string shape = plain(f["variant_shape"]);
  out += section("Variants" + (shape.empty() ? "" : " by " + shape) + ", best first", variants);
  return out + "\nExample\n  krt execute " + module + " " + name + " --args-json '" + plain(f["example"]) + "'\n";
}

std::string module_text(const Value& module) {
  return plain(module["name"]) + "\n  " + plain(module["summary"]) + "\n" +
         section("Functions", rows_of(module["functions"], {"name", "summary"}));
}

// `name` is a module, or else a module, a dot and a function.
Result<Value> look_up(RuntimeApi& runtime, const std::string& name) {
  Result<Value> module = runtime.describe(name, "");
  const std::size_t dot = name.rfind('.');
  if (module.ok() || module.status().reason() != Reason::kModuleNotRegistered || dot == name.npos) return module;
  Result<Value> function = runtime.describe(name.substr(0, dot), name.substr(dot + 1));
  // "No module 'a.b.c'" names what was asked for; "no module 'a.b'" does not.
  return !function.ok() && function.status().reason() == Reason::kModuleNotRegistered ? module : function;
}

}  // namespace

void add_describe(Program& program) {
  auto name = std::make_shared<std::string>();
  CLI::App& command = program.command("describe", "Show what a module or a function does", [&program, name] {
    const Result<Value> found = look_up(program.runtime(), *name);
    if (!found.ok()) return program.failed(found.status());
    if (program.json())
      program.print_json(*found);
    else
      program.print(found->find("functions") != nullptr ? module_text(*found) : function_text(*found));
    return int{kDone};
  });
  command.add_option("NAME", *name, "MODULE or MODULE.FUNCTION")->required();
}

}  // namespace krt::cli
