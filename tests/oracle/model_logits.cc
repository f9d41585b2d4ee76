// model_logits MODEL FORM [THREADS]: logits for model_compare.py. FORM: reference, or the format of the fast loop's
// cache. Standard input has a line for each text, "read N ID ID ..." for the logits after each of its last N ids, or
// "write N ID ID ..." for those that N tokens are chosen by, each the largest, to go on from it. Standard output: those
// rows, f64 little-endian.

#include <cstdio>
#include <iostream>
#include <sstream>

#include "engine/model/generation.h"
#include "modules/builtin.h"

namespace {

using namespace krt;
using namespace krt::engine;

Result<std::shared_ptr<Model>> load(Context& context, const std::string& path, bool reference) {
  auto checkpoint = Checkpoint::open(path);
  if (!checkpoint.ok()) return checkpoint.status();
  return reference ? load_reference(std::move(checkpoint).value()) : load_fast(context, std::move(checkpoint).value());
}

void write(const Tensor& logits) {
  std::vector<double> row(logits.as<double>().begin(), logits.as<double>().end());
  for (const float x : logits.as<float>()) row.push_back(double{x});
  std::fwrite(row.data(), sizeof(double), row.size(), stdout);
}

struct Request {
  bool write;
  std::size_t rows;
  std::vector<std::int64_t> ids;
};

Result<Request> parse(const std::string& line) {
  std::istringstream in(line);
  std::string verb;
  std::int64_t rows = 0;
  in >> verb >> rows;
  Request out{verb == "write", static_cast<std::size_t>(rows), {}};
  for (std::int64_t id = 0; in >> id;) out.ids.push_back(id);
  if (rows < 1 || out.ids.empty() || (!out.write && (verb != "read" || rows > std::ssize(out.ids))))
    return invalid("no line of (read|write) N ID ID ...: " + quoted(line));
  return out;
}

Status answer(Context& context, const Model& model, const SequenceOptions& options, const std::string& line) {
  Result<Request> request = parse(line);
  if (!request.ok()) return request.status();
  auto sequence = model.start(context, options);
  if (!sequence.ok()) return sequence.status();
  std::vector<std::int64_t>& ids = request->ids;
  std::size_t end = request->write ? ids.size() : ids.size() - request->rows + 1;
  std::span<const std::int64_t> piece = std::span(ids).first(end);
  for (std::size_t row = 0; row < request->rows; ++row) {
    if (Status failed = (*sequence)->read(context, piece); !failed.ok()) return failed;
    const Tensor logits = (*sequence)->logits();
    write(logits);
    if (request->write) ids.push_back(top_two(logits).id);
    if (row + 1 < request->rows) piece = std::span(ids).subspan(end++, 1);
  }
  std::fflush(stdout);
  return {};
}

Status run(int argc, char** argv) {
  if (argc < 3) return invalid("model_logits MODEL FORM [THREADS]");
  const std::string form = argv[2];
  const auto cache = decode::cache_format_named(form == "reference" ? "f32" : form);
  if (!cache) return invalid("FORM is reference, f32, f16, bf16 or q8_0");
  Runtime runtime(builtin_registry(), {.threads = argc > 3 ? std::atoi(argv[3]) : 0});
  Context context{runtime.arena(), runtime.handles()};
  const auto model = load(context, argv[1], form == "reference");
  if (!model.ok()) return model.status();
  for (std::string line; std::getline(std::cin, line);)
    if (Status failed = answer(context, **model, {.cache = *cache}, line); !failed.ok()) return failed;
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const krt::Status failed = run(argc, argv);
  if (!failed.ok()) std::cerr << failed.message() << '\n';
  return failed.ok() ? 0 : 1;
}
