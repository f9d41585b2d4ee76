#include "client/cli/model_options.h"

#include <sys/resource.h>

namespace krt::cli {
namespace {

void add_sampling(CLI::App& command, engine::GenerateOptions& o) {
  decode::SampleOptions& s = o.sampling;
  command.add_option("--temperature,--temp", s.temperature, "Divides the logits; 0 takes the largest")->type_name("T");
  command.add_option("--top-k", s.top_k, "The K largest stay; 0 is off")->type_name("K");
  command.add_option("--top-p", s.top_p, "The smallest nucleus of mass P stays; 1 is off")->type_name("P");
  command.add_option("--min-p", s.min_p, "Smallest share of the top probability; 0 is off")->type_name("P");
  command.add_option("--typical-p", s.typical_p, "Mass of the typical set; 1 is off")->type_name("P");
  command.add_option("--repetition-penalty", s.repetition_penalty, "Of tokens of the text; 1 is off")->type_name("X");
  command.add_option("--presence-penalty", s.presence_penalty, "Off each logit of the text; 0 is off")->type_name("X");
  command.add_option("--frequency-penalty", s.frequency_penalty, "The same for every occurrence")->type_name("X");
  command.add_option("--seed", o.seed, "Of the draws; the same seed writes the same text")->type_name("N");
}

}  // namespace

void add_model_options(CLI::App& command, ModelOptions& o) {
  command.add_option("-m,--model", o.model, "A GGUF file, or any shard of one")->required()->type_name("FILE");
  command.add_option("-n,--max-tokens", o.generate.max_tokens, "Tokens to write at most")
      ->check(CLI::Range(std::int64_t{0}, engine::kMaxContext))
      ->type_name("N");
  command.add_option("--stop", o.stop, "A text that ends what is written; may be given again")->type_name("TEXT");
  command.add_flag("--reference", o.reference, "As f64 values, by the named f64 kernels alone");
  command.add_option("--cache", o.cache, "Format of keys and values: f16 (default), f32, bf16, q8_0")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "q8_0"}))
      ->type_name("FORMAT");
  command.add_option("--chunk", o.sequence.chunk, "Prompt tokens that go through the layers together")
      ->check(CLI::Range(std::int64_t{1}, engine::kMaxChunk))
      ->type_name("N");
  add_sampling(command, o.generate);
}

engine::SequenceOptions sequence_options(const ModelOptions& o) {
  engine::SequenceOptions options = o.sequence;
  options.cache = decode::cache_format_named(o.cache).value();
  return options;
}

Result<std::shared_ptr<engine::Model>> load_model(Context& context, const ModelOptions& o, ProgressLine& line) {
  const Clock::time_point begin = Clock::now();
  auto checkpoint = engine::Checkpoint::open(o.model);
  if (!checkpoint.ok()) return checkpoint.status();
  const auto progress = [&](std::int64_t done, std::int64_t total) {
    line.show("loading: layer " + std::to_string(done) + " of " + std::to_string(total));
  };
  auto model = o.reference ? engine::load_reference(std::move(checkpoint).value(), progress)
                           : engine::load_fast(context, std::move(checkpoint).value(), progress);
  if (!model.ok()) return model.status();
  const engine::ModelConfig& c = (*model)->config();
  line.done("loaded " + krt::quoted(c.name) + " (" + std::string(c.architecture->name) + ", " +
            std::to_string(c.layers) + " layers) in " +
            fixed(std::chrono::duration<double>(Clock::now() - begin).count(), 2) + " s");
  return model;
}

std::string Timings::text() const {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return "prefill " + std::to_string(prompt) + " tokens, " + fixed(static_cast<double>(prompt) / prefill.count(), 1) +
         " tokens/s; decode " + std::to_string(tokens) + " tokens, " +
         fixed(tokens > 0 ? static_cast<double>(tokens) / decode.count() : 0, 1) + " tokens/s; peak memory " +
         fixed(static_cast<double>(usage.ru_maxrss) / 1024, 0) + " MiB";
}

}  // namespace krt::cli
