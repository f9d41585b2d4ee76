#include <charconv>
#include <cstdio>

#include "client/cli/model_options.h"
#include "engine/model/prompt.h"
#include "engine/model/text_stream.h"

namespace krt::cli {
namespace {

using engine::Generation;

struct Options : ModelOptions {
  std::optional<std::string> prompt, prompt_ids;
  bool ids = false, top2 = false, ignore_eos = false, parse_special = false;
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

class Run {
 public:
  Run(Program& program, const Options& options)
      : program_(program),
        o_(options),
        line_(program),
        context_{program.local().arena(), program.local().handles(), {.cancelled = &interrupted}} {}

  Status run() {
    auto model = load_model(context_, o_, line_);
    if (!model.ok()) return model.status();
    model_ = std::move(model).value();
    if (Status failed = start(); !failed.ok()) return failed;
    Status failed = write();
    line_.done(timings_.text());
    return failed;
  }

 private:
  Result<std::vector<std::int64_t>> prompt() const {
    if (o_.prompt_ids) return parse_ids(*o_.prompt_ids);
    return engine::encode_prompt(*model_, o_.prompt.value_or(""), o_.parse_special);
  }

  Status start() {
    const Result<std::vector<std::int64_t>> ids = prompt();
    if (!ids.ok()) return ids.status();
    engine::SequenceOptions options = sequence_options(o_);
    options.capacity = std::ssize(*ids) + o_.generate.max_tokens;
    auto sequence = model_->start(context_, options);
    if (!sequence.ok()) return sequence.status();
    engine::GenerateOptions generate = o_.generate;
    if (!o_.ignore_eos) generate.end_tokens = engine::end_tokens(*model_);
    generation_ = std::make_unique<Generation>(*model_, std::move(sequence).value(), std::move(generate));
    const Clock::time_point begin = Clock::now();
    Status failed = generation_->prefill(context_, *ids, [this](std::int64_t done, std::int64_t total) {
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
    Status failed = engine::write_all(context_, *generation_, text, [this](const engine::Written& written) {
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
    Dict result{{"text", text_},
                {"ids", std::vector<std::int64_t>(ids.begin() + timings_.prompt, ids.end())},
                {"finish", engine::name_of(generation_->finish())},
                {"prompt_ids", std::vector<std::int64_t>(ids.begin(), ids.begin() + timings_.prompt)},
                {"prefill_s", timings_.prefill.count()},
                {"decode_s", timings_.decode.count()}};
    if (o_.top2) result.emplace_back("gaps", gaps_);
    return result;
  }

  void show(const engine::Written& written) {
    text_ += written.piece;
    if (o_.top2 && written.id) gaps_.push_back(engine::top_two(generation_->sequence().logits()).gap);
    if (program_.json()) return;
    if (!o_.ids && !o_.top2) return program_.print(written.piece);
    if (!written.id) return;
    if (o_.ids) return program_.print((timings_.tokens == 1 ? "" : ",") + std::to_string(*written.id));
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%lld %.9g\n", static_cast<long long>(*written.id), gaps_.back());
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
  std::vector<double> gaps_;  // with --top2
};

}  // namespace

void add_generate(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App& command = program.command("generate", "Write text with a model from a GGUF file", [&program, o] {
    if (!o->prompt && !o->prompt_ids) throw UsageError("one of -p and --prompt-ids is wanted");
    const InterruptGuard guard;
    const Status failed = Run(program, *o).run();
    return failed.ok() ? int{kDone} : program.failed(failed);
  });
  add_model_options(command, *o);
  CLI::Option* prompt = command.add_option("-p,--prompt", o->prompt, "The text to go on from")->type_name("TEXT");
  CLI::Option* ids = command.add_option("--prompt-ids", o->prompt_ids, "Its token ids: 1,2,3")->type_name("IDS");
  prompt->excludes(ids);
  command.add_flag("--parse-special", o->parse_special, "<|im_end|> in the prompt is that token, else text");
  CLI::Option* print_ids = command.add_flag("--ids", o->ids, "Print token ids, not text");
  command
      .add_flag(
          "--top2", o->top2,
          "Print a line a token: its id and the gap of the largest logit to the second; with --format json, \"gaps\"")
      ->excludes(print_ids);
  command.add_flag("--ignore-eos", o->ignore_eos, "Go on behind an end-of-text token");
}

}  // namespace krt::cli
