#include "engine/gguf/quantize.h"

#include <algorithm>
#include <cctype>

#include "client/cli/terminal.h"
#include "client/cli/text.h"

namespace krt::cli {
namespace {

using engine::PlannedTensor;
using quant::Format;

struct Options {
  std::string from, to, type, embedding, output;
  bool force = false;
};

// A format that can be written, in either case.
const Format& format_of(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  if (const Format* format = quant::format_named(name); format != nullptr && format->encode != nullptr) return *format;
  std::string known;
  for (const Format& f : quant::formats())
    if (f.encode != nullptr) known += (known.empty() ? "" : ", ") + std::string(f.info.name);
  throw UsageError("no format " + krt::quoted(name) + " to write; there are " + known);
}

std::string mebibytes(std::uint64_t bytes) { return fixed(static_cast<double>(bytes) / (1 << 20), 1) + " MiB"; }

std::string shape_of(const engine::GgufTensor& t) {
  std::string out;
  for (std::size_t i = t.dims.size(); i-- > 0;) out += (out.empty() ? "" : " x ") + std::to_string(t.dims[i]);
  return out;
}

std::string why_not(const PlannedTensor& t) {
  if (t.to == t.wanted) return "";
  return "rows of " + std::to_string(t.from->dims[0]) + " are no whole number of " + std::string(t.wanted->info.name) +
         " blocks of " + std::to_string(t.wanted->info.values);
}

Dict row_of(const PlannedTensor& t) {
  return Dict{{"name", t.from->name},
              {"shape", shape_of(*t.from)},
              {"from", t.from->format->info.name},
              {"to", t.to->info.name},
              {"bytes", static_cast<std::int64_t>(t.bytes())},
              {"note", why_not(t)}};
}

std::string table(const std::vector<PlannedTensor>& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const PlannedTensor& t : plan) {
    rows.push_back({krt::quoted(t.from->name), shape_of(*t.from),
                    std::string(t.from->format->info.name) + " -> " + std::string(t.to->info.name),
                    std::to_string(t.bytes()) + " bytes"});
    if (t.to != t.wanted) rows.back().push_back(why_not(t));
  }
  return columns(rows);
}

int quantize(Program& program, const Options& o) {
  const Format& weights = format_of(o.type);
  const Format& embedding = o.embedding.empty() ? weights : format_of(o.embedding);
  const Format& output = o.output.empty() ? weights : format_of(o.output);
  const Clock::time_point begin = Clock::now();
  const auto file = engine::GgufFile::open(o.from);
  if (!file.ok()) return program.failed(file.status());
  const auto plan = engine::plan_quantize(**file, {&weights, &embedding, &output});
  if (!plan.ok()) return program.failed(plan.status());

  const InterruptGuard guard;
  Context context{program.local().arena(), program.local().handles(), {.cancelled = &interrupted}};
  ProgressLine line(program);
  const auto progress = [&](std::size_t i) {
    line.show("tensor " + std::to_string(i + 1) + " of " + std::to_string(plan->size()) + ": " +
              krt::quoted((*plan)[i].from->name));
  };
  const auto bytes = engine::quantize(context, **file, *plan, weights, o.to, o.force, progress);
  if (!bytes.ok()) return program.failed(bytes.status());
  line.show("");

  std::uint64_t before = 0;
  for (const PlannedTensor& t : *plan) before += t.from->data.size();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (program.json()) {
    List tensors;
    for (const PlannedTensor& t : *plan) tensors.emplace_back(row_of(t));
    program.print_json(Dict{{"tensors", tensors}, {"bytes", static_cast<std::int64_t>(*bytes)}, {"seconds", seconds}});
  } else {
    program.print(table(*plan) + "\n" + mebibytes(before) + " of tensors became a file of " + mebibytes(*bytes) +
                  " in " + fixed(seconds, 2) + " s\n");
  }
  return kDone;
}

}  // namespace

void add_quantize(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App& command =
      program.command("quantize", "Write a model file with its weights in another format", [&program, o] {
        try {
          return quantize(program, *o);
        } catch (const StatusError& e) {
          return program.failed(e.status());
        }
      });
  command.add_option("IN", o->from, "GGUF file, or any shard of a set")->required();
  command.add_option("OUT", o->to, "File to write")->required();
  command
      .add_option("TYPE", o->type, "Format of the matrices: f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q2_k to q6_k")
      ->required();
  command.add_option("--token-embedding-type", o->embedding, "Of the token embedding; TYPE where not given")
      ->type_name("TYPE");
  command.add_option("--output-type", o->output, "Of the output head; TYPE where not given")->type_name("TYPE");
  command.add_flag("--force", o->force, "Write over a file that exists");
}

}  // namespace krt::cli
