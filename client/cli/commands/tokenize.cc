#include <unistd.h>

#include "client/cli/input.h"
#include "client/cli/program.h"
#include "client/cli/text.h"
#include "runtime/codec/json.h"

namespace krt::cli {
namespace {

struct Options {
  std::string model;
  bool ids = false, parse_special = false, bare = false;
};

// The answer of engine.<function>; a failure goes to the end of the command.
Value call(RuntimeApi& runtime, const char* function, List arguments) {
  ExecuteResult r = runtime.execute("engine", function, Value(std::move(arguments)));
  if (!r.success()) throw StatusError(r.error);
  return std::move(r.result);
}

List pieces_of(RuntimeApi& runtime, const Value& model, std::span<const std::int64_t> ids) {
  List out;
  for (const std::int64_t id : ids)
    out.push_back(call(runtime, "detokenize", {model, Value(std::vector<std::int64_t>{id}), Value(true)}));
  return out;
}

std::string joined(std::span<const std::int64_t> ids) {
  std::string out;
  for (const std::int64_t id : ids) out += (out.empty() ? "" : ",") + std::to_string(id);
  return out + "\n";
}

int tokenize(Program& program, const Options& o) {
  const std::string text = read_all(STDIN_FILENO, "standard input");
  RuntimeApi& runtime = program.runtime();
  const Value model = call(runtime, "open_tokenizer", {Value(o.model)})["handle"];
  const Value result = call(runtime, "tokenize", {model, Value(text), Value(!o.bare), Value(o.parse_special)});
  const std::span<const std::int64_t> ids = result.get_if<Tensor>()->as<std::int64_t>();
  if (program.json()) {
    program.print_json(Dict{{"ids", result}, {"pieces", pieces_of(runtime, model, ids)}});
  } else if (o.ids) {
    program.print(joined(ids));
  } else {
    const List pieces = pieces_of(runtime, model, ids);
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < ids.size(); ++i) rows.push_back({std::to_string(ids[i]), to_json(pieces[i])});
    program.print(columns(rows));
  }
  return kDone;
}

}  // namespace

void add_tokenize(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App& command = program.command("tokenize", "Print the tokens of the text on standard input", [&program, o] {
    try {
      return tokenize(program, *o);
    } catch (const StatusError& e) {
      return program.failed(e.status());
    }
  });
  command.add_option("-m,--model", o->model, "GGUF file with the tokenizer")->required()->type_name("FILE");
  command.add_flag("--ids", o->ids, "Ids only, on one line with commas between them");
  command.add_flag("--parse-special", o->parse_special, "<|im_end|> in the text is that token, not eleven characters");
  command.add_flag("--bare", o->bare, "Without the beginning and end of text that the model adds");
}

}  // namespace krt::cli
