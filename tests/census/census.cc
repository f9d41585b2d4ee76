#include "tests/census/census.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

namespace krt::census {
namespace {

constexpr std::string_view kHeader = "kernel\tvariant\tstate\tnote";

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> out;
  while (true) {
    const auto tab = line.find('\t');
    out.emplace_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return out;
    line.remove_prefix(tab + 1);
  }
}

std::string name(const Form& form) { return form.kernel + " (" + form.variant + ")"; }

const Row* find(std::span<const Row> table, const Form& form) {
  const auto it = std::find_if(table.begin(), table.end(), [&](const Row& row) { return row.form == form; });
  return it == table.end() ? nullptr : &*it;
}

// What is wrong with one registered form; empty where nothing is.
std::string problem_of(const Known& known, bool credited, const Row* row) {
  const bool excused = row != nullptr && row->excused;
  if (excused && credited) return name(known.form) + " is excused, but a test checks it: the excuse is stale";
  if (excused && row->note.empty()) return name(known.form) + " is excused without a note";
  if (!excused && !credited && known.runs_here) return name(known.form) + " was checked by no test";
  return {};
}

}  // namespace

std::vector<Known> forms_of(const Registry& registry) {
  std::vector<Known> out;
  for (const FunctionInfo* info : registry.all()) {
    if (info->variants.empty()) out.push_back({{info->full_name(), "reference"}, true});
    for (const VariantInfo& v : info->variants)
      out.push_back({{info->full_name(), std::string(v.name)}, v.refusal({}).empty()});
  }
  std::sort(out.begin(), out.end(), [](const Known& a, const Known& b) { return a.form < b.form; });
  return out;
}

Result<std::set<Form>> read_credits(const std::string& folder) {
  std::error_code error;
  std::set<Form> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const std::vector<std::string> fields = split(line);
      if (fields.size() != 2) return invalid(entry.path().string() + ": no credit: " + krt::quoted(line));
      out.insert({fields[0], fields[1]});
    }
  }
  if (error) return invalid("cannot read the folder " + krt::quoted(folder) + ": " + error.message());
  return out;
}

Result<std::vector<Row>> parse_table(std::string_view text) {
  std::vector<Row> out;
  for (bool first = true; !text.empty(); first = false) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (first && line != kHeader) return invalid("the table begins with " + krt::quoted(line));
    if (first) continue;
    const std::vector<std::string> fields = split(line);
    if (fields.size() != 4 || (fields[2] != "checked" && fields[2] != "excused"))
      return invalid("no row of the table: " + krt::quoted(line));
    out.push_back({{fields[0], fields[1]}, fields[2] == "excused", fields[3]});
  }
  return out;
}

std::string table_text(std::span<const Row> rows) {
  std::string out = std::string(kHeader) + "\n";
  for (const Row& row : rows)
    out += row.form.kernel + "\t" + row.form.variant + (row.excused ? "\texcused\t" : "\tchecked\t") + row.note + "\n";
  return out;
}

std::vector<std::string> problems(std::span<const Known> known, const std::set<Form>& credits,
                                  std::span<const Row> table) {
  std::vector<std::string> out;
  if (credits.empty()) out.emplace_back("the census is empty: no test gave credit");
  std::set<Form> registered;
  for (const Known& k : known) {
    registered.insert(k.form);
    std::string problem = problem_of(k, credits.contains(k.form), find(table, k.form));
    if (!problem.empty()) out.push_back(std::move(problem));
  }
  for (const Form& form : credits)
    if (!registered.contains(form)) out.push_back(name(form) + " was credited, but is not registered");
  std::set<Form> seen;
  for (const Row& row : table) {
    if (row.excused && !registered.contains(row.form))
      out.push_back(name(row.form) + " is excused, but not registered");
    if (!seen.insert(row.form).second) out.push_back(name(row.form) + " is in the table twice");
  }
  return out;
}

std::vector<Row> updated(std::span<const Known> known, const std::set<Form>& credits, std::span<const Row> table) {
  std::vector<Row> out;
  for (const Known& k : known) {
    const Row* row = find(table, k.form);
    const bool was_excused = row != nullptr && row->excused;
    const bool excused = !credits.contains(k.form) && (k.runs_here || was_excused);
    out.push_back({k.form, excused, row != nullptr && excused == was_excused ? row->note : std::string()});
  }
  return out;
}

}  // namespace krt::census
