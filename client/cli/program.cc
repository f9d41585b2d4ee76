#include "client/cli/program.h"

#include <cerrno>
#include <system_error>

#include "client/cpp/remote_runtime.h"
#include "modules/builtin.h"
#include "runtime/codec/json.h"

namespace krt::cli {
namespace {

constexpr const char* kFooter = R"(
Exit codes:
  0  done; a kernel's own refusal is an answer and is printed with its status
  1  the execution failed
  2  usage
  3  the server cannot be reached

Examples:
  krt execute llmk.residual residual_add_flat --args-json '[[1,2,3],[4,5,6],3]'
  krt serve &  krt --remote 127.0.0.1:50099 modules)";

}  // namespace

Program::Program(Sink out, Sink err)
    : app_("krt: kernels of LLM inference by name, in this process or on a server", "krt"),
      out_(std::move(out)),
      err_(std::move(err)) {
  app_.require_subcommand(0, 1);
  app_.footer(kFooter);
  app_.add_option("--remote", globals_.remote, "Use the server at HOST:PORT instead of this process")
      ->envname("KRT_REMOTE")
      ->type_name("HOST:PORT");
  app_.add_option_function<std::string>(
          "--format", [this](const std::string& format) { globals_.json = format == "json"; }, "text (default) or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  app_.add_option("--threads", globals_.threads, "Threads that compute; 0 is all of the machine's")
      ->envname("KRT_THREADS")
      ->check(CLI::Range(0, 4096))
      ->type_name("N");
  add_commands(*this);
}

Program::~Program() = default;

CLI::App& Program::command(const std::string& name, const std::string& summary, std::function<int()> body) {
  CLI::App* sub = app_.add_subcommand(name, summary);
  sub->footer("");
  sub->fallthrough();  // --remote, --format and --threads may stand behind the command too
  sub->callback([this, body = std::move(body)] { chosen_ = body; });
  return *sub;
}

int Program::run(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
    if (chosen_) return chosen_();
    err_(app_.help());
    return kUsage;
  } catch (const CLI::Success& asked_for_help) {
    print(asked_for_help.get_name() == "CallForHelp" ? app_.help() : app_.help("", CLI::AppFormatMode::All));
    return kDone;
  } catch (const CLI::ParseError& e) {
    warn(std::string(e.what()) + "; try krt --help");
    return kUsage;
  } catch (const UsageError& e) {
    warn(e.what());
    return kUsage;
  } catch (const StatusError& e) {  // KRT_ISA names no instruction set
    warn(e.what());
    return kUsage;
  }
}

RuntimeApi& Program::runtime() {
  if (!globals_.remote.empty()) return remote(globals_.remote);
  return local();
}

Runtime& Program::local() {
  if (!globals_.remote.empty()) throw UsageError("this command works in this process only: leave out --remote");
  if (local_ == nullptr) local_ = std::make_unique<Runtime>(builtin_registry(), RuntimeOptions{globals_.threads});
  return *local_;
}

RuntimeApi& Program::remote(const std::string& address) {
  if (remote_ == nullptr) remote_ = std::make_unique<RemoteRuntime>(RemoteOptions{address});
  return *remote_;
}

void Program::print_json(const Value& value) { print(to_json(value) + "\n"); }

int Program::failed(const Status& status) {
  warn(std::string(name_of(status.reason())) + ": " + status.message());
  return status.reason() == Reason::kRuntimeUnavailable ? kUnreachable : kFailed;
}

}  // namespace krt::cli
