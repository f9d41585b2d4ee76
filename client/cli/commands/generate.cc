#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>

#include "client/cli/program.h"
#include "engine/model/prompt.h"
#include "engine/model/text_stream.h"

namespace krt::cli {
namespace {

using engine::Generation;
using Seconds = std::chrono::duration<double>;

struct Options {
  std::string model, cache = "f16";
  std::optional<std::string> prompt, prompt_ids;
  std::vector<std::string> stop;
  engine::GenerateOptions generate;
  engine::SequenceOptions sequence;
  bool ids = false, top2 = false, ignore_eos = false, reference = false, parse_special = false;
};

// Set by an interrupt while a text is written: it ends there, and the timings are printed.
std::atomic<bool> interrupted{false};

class InterruptGuard {
 public:
  InterruptGuard() : before_(std::signal(SIGINT, [](int) { interrupted = true; })) { interrupted = false; }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard() { std::signal(SIGINT, before_); }

 private:
  void (*before_)(int);
};

// "1,2,3".
std::vector<std::int64_t> parse_ids(std::string_view text) {
  std::vector<std::int64_t> ids;
  while (true) {
    const std::string_view one = text.substr(0, text.find(','));
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(one.begin(), one.end(), id);
    if (error != std::errc() || end != one.end())
      throw UsageError("--prompt-ids wants numbers with commas between, got " + krt::quoted(text));
    ids.push_back(id);
    if (one.size() == text.size()) return ids;
    text.remove_prefix(one.size() + 1);
  }
}

std::string fixed(double x, int digits) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, x);
  return text.data();
}

// On a terminal one line that is written over; elsewhere the end of each stage only.
class ProgressLine {
 public:
  explicit ProgressLine(Program& program) : program_(program), terminal_(::isatty(STDERR_FILENO) == 1) {}
  void show(const std::string& text) {
    if (terminal_) program_.note("\r\033[K" + text);
  }
  void done(const std::string& text) { program_.note((terminal_ ? "\r\033[K" : "") + text + "\n"); }

 private:
  Program& program_;
  bool terminal_;
};

struct Timings {
  Seconds prefill{}, decode{};
  std::int64_t prompt = 0, tokens = 0;

  [[nodiscard]] std::string text() const {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return "prefill " + std::to_string(prompt) + " tokens, " + fixed(static_cast<double>(prompt) / prefill.count(), 1) +
           " tokens/s; decode " + std::to_string(tokens) + " tokens, " +
           fixed(tokens > 0 ? static_cast<double>(tokens) / decode.count() : 0, 1) + " tokens/s; peak memory " +
           fixed(static_cast<double>(usage.ru_maxrss) / 1024, 0) + " MiB";
  }
};

class Run {
 public:
  Run(Program& program, const Options& options)
      : program_(program),
        o_(options),
        line_(program),
        context_{program.local().arena(), program.local().handles(), {.cancelled = &interrupted}} {}

  Status run() {
    if (Status failed = load(); !failed.ok()) return failed;
    if (Status failed = start(); !failed.ok()) return failed;
    const Status failed = write();
    line_.done(timings_.text());
    return failed;
  }

 private:
  Status load() {
    const Clock::time_point begin = Clock::now();
    auto checkpoint = engine::Checkpoint::open(o_.model);
    if (!checkpoint.ok()) return checkpoint.status();
    const auto progress = [this](std::int64_t done, std::int64_t total) {
      line_.show("loading: layer " + std::to_string(done) + " of " + std::to_string(total));
    };
    auto model = o_.reference ? engine::load_reference(std::move(checkpoint).value(), progress)
                              : engine::load_fast(context_, std::move(checkpoint).value(), progress);
    if (!model.ok()) return model.status();
    model_ = std::move(model).value();
    const engine::ModelConfig& c = model_->config();
    line_.done("loaded " + krt::quoted(c.name) + " (" + std::string(c.architecture->name) + ", " +
               std::to_string(c.layers) + " layers) in " + fixed(Seconds(Clock::now() - begin).count(), 2) + " s");
    return {};
  }

  Result<std::vector<std::int64_t>> prompt() const {
    if (o_.prompt_ids) return parse_ids(*o_.prompt_ids);
    return engine::encode_prompt(*model_, o_.prompt.value_or(""), o_.parse_special);
  }

  Status start() {
    const Result<std::vector<std::int64_t>> ids = prompt();
    if (!ids.ok()) return ids.status();
    engine::SequenceOptions options = o_.sequence;
    options.capacity = std::ssize(*ids) + o_.generate.max_tokens;
    options.cache = decode::cache_format_named(o_.cache).value();
    auto sequence = model_->start(context_, options);
    if (!sequence.ok()) return sequence.status();
    engine::GenerateOptions generate = o_.generate;
    if (!o_.ignore_eos) generate.end_tokens = engine::end_tokens(*model_);
    generation_ = std::make_unique<Generation>(*model_, std::move(sequence).value(), std::move(generate));
    const Clock::time_point begin = Clock::now();
    const Status failed = generation_->prefill(context_, *ids, [this](std::int64_t done, std::int64_t total) {
      line_.show("prompt: " + std::to_string(done) + " of " + std::to_string(total) + " tokens");
    });
    timings_.prefill = Clock::now() - begin;
    timings_.prompt = std::ssize(*ids);
    if (failed.ok()) line_.show("");
    return failed;
  }

  Status write() {
    engine::TextStream text(model_->tokenizer().get(), o_.stop);
    const Clock::time_point begin = Clock::now();
    const Status failed = engine::write_all(context_, *generation_, text, [this](const engine::Written& written) {
      if (written.id) ++timings_.tokens;
      show(written);
      return true;
    });
    timings_.decode = Clock::now() - begin;
    if (program_.json())
      program_.print_json(result());
    else if (!o_.top2)
      program_.print("\n");
    return failed;
  }

  [[nodiscard]] Value result() const {
    const auto ids = generation_->ids();
    return Dict{{"text", text_},
                {"ids", std::vector<std::int64_t>(ids.begin() + timings_.prompt, ids.end())},
                {"finish", engine::name_of(generation_->finish())},
                {"prompt_ids", std::vector<std::int64_t>(ids.begin(), ids.begin() + timings_.prompt)},
                {"prefill_s", timings_.prefill.count()},
                {"decode_s", timings_.decode.count()}};
  }

  void show(const engine::Written& written) {
    text_ += written.piece;
    if (program_.json()) return;
    if (!o_.ids && !o_.top2) return program_.print(written.piece);
    if (!written.id) return;
    if (o_.ids) return program_.print((timings_.tokens == 1 ? "" : ",") + std::to_string(*written.id));
    const engine::TopTwo top = engine::top_two(generation_->sequence().logits());
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%lld %.9g\n", static_cast<long long>(*written.id), top.gap);
    program_.print(text.data());
  }

  Program& program_;
  const Options& o_;
  ProgressLine line_;
  Context context_;
  std::shared_ptr<engine::Model> model_;
  std::unique_ptr<Generation> generation_;
  Timings timings_;
  std::string text_;
};

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

void add_generate(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App& command = program.command("generate", "Write text with a model from a GGUF file", [&program, o] {
    if (!o->prompt && !o->prompt_ids) throw UsageError("one of -p and --prompt-ids is wanted");
    const InterruptGuard guard;
    const Status failed = Run(program, *o).run();
    return failed.ok() ? int{kDone} : program.failed(failed);
  });
  command.add_option("-m,--model", o->model, "A GGUF file, or any shard of one")->required()->type_name("FILE");
  CLI::Option* prompt = command.add_option("-p,--prompt", o->prompt, "The text to go on from")->type_name("TEXT");
  CLI::Option* ids = command.add_option("--prompt-ids", o->prompt_ids, "Its token ids: 1,2,3")->type_name("IDS");
  prompt->excludes(ids);
  command.add_flag("--parse-special", o->parse_special, "<|im_end|> in the prompt is that token, else text");
  command.add_option("-n,--max-tokens", o->generate.max_tokens, "Tokens to write at most")
      ->check(CLI::Range(std::int64_t{0}, engine::kMaxContext))
      ->type_name("N");
  command.add_option("--stop", o->stop, "A text that ends what is written; may be given again")->type_name("TEXT");
  CLI::Option* print_ids = command.add_flag("--ids", o->ids, "Print token ids, not text");
  command.add_flag("--top2", o->top2, "Print a line a token: its id and the gap of the largest logit to the second")
      ->excludes(print_ids);
  command.add_flag("--ignore-eos", o->ignore_eos, "Go on behind an end-of-text token");
  command.add_flag("--reference", o->reference, "As f64 values, by the named f64 kernels alone");
  command.add_option("--cache", o->cache, "Format of keys and values: f16 (default), f32, bf16, q8_0")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "q8_0"}))
      ->type_name("FORMAT");
  command.add_option("--chunk", o->sequence.chunk, "Prompt tokens that go through the layers together")
      ->check(CLI::Range(std::int64_t{1}, engine::kMaxChunk))
      ->type_name("N");
  add_sampling(command, o->generate);
}

}  // namespace krt::cli
