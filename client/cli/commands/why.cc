#include "runtime/dispatch/why.h"

#include "client/cli/program.h"
#include "client/cli/text.h"

namespace krt::cli {
namespace {

struct Question {
  std::string function, shape;
};

Result<const FunctionInfo*> find(const Registry& registry, const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos) return invalid(krt::quoted(name) + " is no MODULE.FUNCTION");
  return registry.lookup(name.substr(0, dot), name.substr(dot + 1));
}

Value as_value(const FunctionInfo& info, const Why& why, const std::vector<std::int64_t>& shape) {
  List variants;
  for (const WhyRow& row : why.rows)
    variants.emplace_back(
        Dict{{"name", row.variant}, {"refused_by", row.refused_by.empty() ? Value() : Value(row.refused_by)}});
  return Dict{{"function", info.full_name()},
              {"shape", shape},
              {"served_by", why.served_by.empty() ? Value() : Value(why.served_by)},
              {"variants", std::move(variants)}};
}

std::string as_text(const Why& why) {
  std::vector<std::vector<std::string>> rows;
  for (const WhyRow& row : why.rows) {
    const std::string gate(row.refused_by);
    rows.push_back({std::string(row.variant), gate.empty()      ? "serves"
                                              : gate == "order" ? "may serve, but a better one does"
                                                                : "refused by " + gate});
  }
  return columns(rows);
}

int answer(Program& program, const Question& question) {
  const Result<const FunctionInfo*> info = find(program.local().registry(), question.function);
  if (!info.ok()) return program.failed(info.status());
  std::vector<std::int64_t> shape;
  if (!question.shape.empty()) {
    Result<std::vector<std::int64_t>> parsed = parse_shape(question.shape);
    if (!parsed.ok()) return program.failed(parsed.status());
    shape = std::move(parsed).value();
  }
  const Result<Why> found = why(**info, shape);
  if (!found.ok()) return program.failed(found.status());
  if (program.json())
    program.print_json(as_value(**info, *found, shape));
  else
    program.print(as_text(*found));
  const Status none = survivor(**info, *found);
  return none.ok() ? int{kDone} : program.failed(none);
}

}  // namespace

void add_why(Program& program) {
  auto question = std::make_shared<Question>();
  CLI::App& command =
      program.command("why", "Show which variant of a function serves a call here, and what refused the others",
                      [&program, question] { return answer(program, *question); });
  command.add_option("NAME", question->function, "MODULE.FUNCTION")->required();
  command.add_option("--shape", question->shape,
                     "The numbers that choose, joined by x: 1x4096 (`krt describe` names them)");
}

}  // namespace krt::cli
