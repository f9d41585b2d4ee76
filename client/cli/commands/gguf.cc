#include <fstream>

#include "client/cli/program.h"
#include "client/cli/text.h"
#include "runtime/codec/json.h"

namespace krt::cli {
namespace {

struct Options {
  std::string file, tensor, format = "f32", output;
  bool json = false;
};

// The answer of gguf.<function>; a failure goes to the end of the command.
Value call(RuntimeApi& runtime, const char* function, List arguments) {
  ExecuteResult r = runtime.execute("gguf", function, Value(std::move(arguments)));
  if (!r.success()) throw StatusError(r.error);
  return std::move(r.result);
}

// One line, whatever the file holds.
std::string shown(const Value& value) {
  const auto* text = value.get_if<std::string>();
  return text != nullptr ? krt::quoted(*text) : preview(value);
}

std::string shape_text(const Value& shape) {
  std::string out;
  for (const std::int64_t dim : shape.get_if<Tensor>()->as<std::int64_t>())
    out += (out.empty() ? "" : " x ") + std::to_string(dim);
  return out;
}

std::string table(const Value& opened, const Dict& metadata, const List& tensors) {
  std::string out = columns({{"version", plain(opened["version"])},
                             {"shards", plain(opened["shards"])},
                             {"keys", plain(opened["keys"])},
                             {"tensors", plain(opened["tensors"])}});
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : metadata) rows.push_back({key, shown(value)});
  if (!rows.empty()) out += "\nKeys\n" + columns(rows, 2);
  rows.clear();
  for (const Value& t : tensors)
    rows.push_back({plain(t["name"]), plain(t["type"]), shape_text(t["shape"]), plain(t["bytes"]) + " bytes"});
  if (!rows.empty()) out += "\nTensors\n" + columns(rows, 2);
  return out;
}

int show(Program& program, const Options& o) {
  if (o.file.empty()) throw UsageError("FILE is required");
  RuntimeApi& runtime = program.runtime();
  const Value opened = call(runtime, "open", {Value(o.file)});
  const Value metadata = call(runtime, "metadata", {opened["handle"]});
  const Value tensors = call(runtime, "tensors", {opened["handle"]});
  if (program.json() || o.json)
    program.print_json(Dict{
        {"version", opened["version"]}, {"shards", opened["shards"]}, {"metadata", metadata}, {"tensors", tensors}});
  else
    program.print(table(opened, *metadata.get_if<Dict>(), *tensors.get_if<List>()));
  return kDone;
}

int read(Program& program, const Options& o) {
  RuntimeApi& runtime = program.runtime();
  const Value opened = call(runtime, "open", {Value(o.file)});
  const Value values = call(runtime, "read", {opened["handle"], Value(o.tensor)});
  const Tensor& t = *values.get_if<Tensor>();
  const std::string_view bytes(static_cast<const char*>(t.data()), t.bytes());
  if (o.output.empty()) {
    program.print(bytes);
    return kDone;
  }
  std::ofstream out(o.output, std::ios::binary);
  out.write(bytes.data(), std::ssize(bytes));
  if (!out.flush()) throw StatusError(invalid("cannot write " + krt::quoted(o.output)));
  return kDone;
}

}  // namespace

void add_gguf(Program& program) {
  auto o = std::make_shared<Options>();
  auto read_it = std::make_shared<bool>(false);
  CLI::App& command = program.command("gguf", "Show the keys and tensors of a model file", [&program, o, read_it] {
    try {
      return *read_it ? read(program, *o) : show(program, *o);
    } catch (const StatusError& e) {
      return program.failed(e.status());
    }
  });
  command.add_option("FILE", o->file, "GGUF file, or any shard of a set");
  command.add_flag("--json", o->json, "As --format json");
  CLI::App* reader = command.add_subcommand("read", "Print a tensor's values as raw little-endian numbers");
  reader->callback([read_it] { *read_it = true; });
  reader->fallthrough();
  reader->add_option("FILE", o->file, "GGUF file, or any shard of a set")->required();
  reader->add_option("TENSOR", o->tensor, "Name of the tensor")->required();
  reader->add_option("--format", o->format, "f32")->check(CLI::IsMember({"f32"}))->type_name("FORMAT");
  reader->add_option("-o,--output", o->output, "Write to a file, not to standard output")->type_name("FILE");
}

}  // namespace krt::cli
