#pragma once
// What `krt generate` and `krt chat` have in common: the model, how it writes, and what is said of it meanwhile.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/program.h"
#include "client/cli/terminal.h"
#include "engine/model/generation.h"

namespace krt::cli {

struct ModelOptions {
  std::string model, cache = "f16";
  std::vector<std::string> stop;
  engine::GenerateOptions generate;
  engine::SequenceOptions sequence;
  bool reference = false;
};

void add_model_options(CLI::App& command, ModelOptions& options);
// Those of the command line, with the cache's format.
engine::SequenceOptions sequence_options(const ModelOptions& options);
Result<std::shared_ptr<engine::Model>> load_model(Context& context, const ModelOptions& options, ProgressLine& line);

struct Timings {
  std::chrono::duration<double> prefill{}, decode{};
  std::int64_t prompt = 0, tokens = 0;

  // Tokens a second, and the program's peak memory.
  [[nodiscard]] std::string text() const;
};

}  // namespace krt::cli
