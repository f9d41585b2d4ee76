#include <unistd.h>

#include "client/cli/input.h"
#include "client/cli/model_options.h"
#include "engine/model/conversation.h"

namespace krt::cli {
namespace {

using engine::Conversation;

struct Options : ModelOptions {
  std::string system;
};

// One chat: lines of standard input are messages, answers go to standard output.
class Chat {
 public:
  Chat(Program& program, const Options& options)
      : program_(program),
        o_(options),
        line_(program),
        context_{program.local().arena(), program.local().handles()},
        asks_(::isatty(STDIN_FILENO) == 1) {}

  Status run() {
    auto model = load_model(context_, o_, line_);
    if (!model.ok()) return model.status();
    auto conversation = Conversation::start(std::move(model).value(), sequence_options(o_), o_.system);
    if (!conversation.ok()) return conversation.status();
    LineReader lines(STDIN_FILENO, "standard input");
    if (asks_) program_.note("Ctrl-C ends an answer, /clear the conversation, /exit or Ctrl-D the chat\n");
    while (const std::optional<std::string> line = next(lines)) {
      if (*line == "/exit") break;
      if (*line == "/clear") {
        conversation->clear();
      } else if (!line->empty()) {
        Status failed = turn(*conversation, *line);
        if (!failed.ok() && !asks_) return failed;
        if (!failed.ok()) program_.failed(failed);
      }
    }
    if (timings_.prompt > 0) line_.done(timings_.text());
    return {};
  }

 private:
  std::optional<std::string> next(LineReader& lines) {
    if (asks_) program_.note("> ");
    return lines.next();
  }

  Status turn(Conversation& conversation, const std::string& message) {
    interrupted = false;
    // An interrupt ends the reading of a prompt at once, an answer behind its next token: what was read is kept then.
    context_.control.cancelled = &interrupted;
    const Clock::time_point begin = Clock::now();
    std::optional<Clock::time_point> read;
    const auto progress = [&](std::int64_t done, std::int64_t total) {
      if (done < total)
        return line_.show("reading: " + std::to_string(done) + " of " + std::to_string(total) + " tokens");
      line_.show("");
      context_.control.cancelled = nullptr;
      read = Clock::now();
    };
    const auto show = [&](const engine::Written& written) {
      if (!program_.json()) program_.print(written.piece);
      return !interrupted;
    };
    const auto answer = conversation.ask(context_, message, o_.generate, o_.stop, show, progress);
    if (!answer.ok()) return answer.status();
    const Clock::time_point end = Clock::now();
    timings_.prefill += read.value_or(end) - begin;
    timings_.decode += end - read.value_or(end);
    timings_.prompt += answer->read;
    timings_.tokens += answer->written;
    if (program_.json())
      program_.print_json(Dict{{"user", message},
                               {"assistant", answer->answer},
                               {"finish", engine::name_of(answer->finish)},
                               {"read", answer->read},
                               {"written", answer->written}});
    else
      program_.print("\n");
    return {};
  }

  Program& program_;
  const Options& o_;
  ProgressLine line_;
  Context context_;
  bool asks_;  // a person is at the keyboard
  Timings timings_;
};

}  // namespace

void add_chat(Program& program) {
  auto o = std::make_shared<Options>();
  o->generate.max_tokens = 1024;
  CLI::App& command =
      program.command("chat", "Talk with a model: a line of standard input is a message", [&program, o] {
        const InterruptGuard guard;
        const Status failed = Chat(program, *o).run();
        return failed.ok() ? int{kDone} : program.failed(failed);
      });
  add_model_options(command, *o);
  command.add_option("--system", o->system, "The system message; the chat template may have one of its own")
      ->type_name("TEXT");
  command
      .add_option("--context", o->sequence.capacity,
                  "Tokens of the conversation at most; 0: what the model was made for, up to 4096")
      ->check(CLI::Range(std::int64_t{0}, engine::kMaxContext))
      ->type_name("N");
}

}  // namespace krt::cli
