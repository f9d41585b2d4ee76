// model_logits MODEL FORM [THREADS]: logits for model_compare.py. FORM: reference, or the format of the fast loop's
// cache. Standard input has a line for each text, "LAST ID ID ...": its token ids, and after how many of the last ones
// logits are wanted. Standard output: those rows, f64 little-endian.

#include <cstdio>
#include <iostream>
#include <sstream>

#include "engine/model/model.h"
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

Status answer(Context& context, const Model& model, const SequenceOptions& options, const std::string& line) {
  std::istringstream numbers(line);
  std::int64_t last = 0;
  numbers >> last;
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; numbers >> id;) ids.push_back(id);
  if (last < 1 || last > std::ssize(ids)) return invalid("no line of LAST ID ID ...: " + quoted(line));
  auto sequence = model.start(context, options);
  if (!sequence.ok()) return sequence.status();
  const std::size_t prompt = ids.size() - static_cast<std::size_t>(last) + 1;
  std::span<const std::int64_t> piece = std::span(ids).first(prompt), rest = std::span(ids).subspan(prompt);
  while (true) {
    if (Status failed = (*sequence)->read(context, piece); !failed.ok()) return failed;
    write((*sequence)->logits());
    if (rest.empty()) break;
    piece = rest.first(1);
    rest = rest.subspan(1);
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
