#pragma once
// Program: the `krt` command line. Each subcommand is one file, commands/<name>.cc, which defines
//
//   void krt::cli::add_<name>(Program& program);
//
// and nothing else is edited to add one: CMake lists the files. The program is an object with its own outputs, so
// that tests run it in their process.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/api.h"
#include "runtime/runtime.h"

namespace krt::cli {

// What the program answers to the shell; printed by `krt --help`.
enum Exit : int {
  kDone = 0,
  kFailed = 1,       // the execution failed: an unknown name, wrong arguments, an output that cannot be written
  kUsage = 2,        // the command line cannot be understood, or names a file that cannot be read
  kUnreachable = 3,  // the server cannot be reached
};

inline constexpr std::string_view kDefaultAddress = "127.0.0.1:50099";

struct Globals {
  std::string remote;  // empty: in this process
  bool json = false;
  int threads = 0;  // 0: as many as the machine has
};

class Program {
 public:
  using Sink = std::function<void(std::string_view)>;
  Program(Sink out, Sink err);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  int run(int argc, const char* const* argv);

  // For the commands.
  CLI::App& command(const std::string& name, const std::string& summary, std::function<int()> body);
  // The runtime of this process, or the one behind --remote; made when it is first asked for.
  RuntimeApi& runtime();
  // The runtime of this process; a failure (kUsage) where --remote was given to a command that has no remote form.
  Runtime& local();
  RuntimeApi& remote(const std::string& address);
  [[nodiscard]] const Globals& globals() const { return globals_; }
  [[nodiscard]] bool json() const { return globals_.json; }
  [[nodiscard]] const CLI::App& app() const { return app_; }

  void print(std::string_view text) { out_(text); }
  void print_json(const Value& value);
  // Text for the person at the keyboard, as it is: standard error.
  void note(std::string_view text) { err_(text); }
  void warn(std::string_view text) { err_("krt: " + std::string(text) + "\n"); }
  // Says why on standard error; what the command should answer to the shell.
  int failed(const Status& status);

 private:
  CLI::App app_;
  Globals globals_;
  Sink out_, err_;
  std::function<int()> chosen_;
  std::unique_ptr<Runtime> local_;
  std::unique_ptr<RuntimeApi> remote_;
};

// Thrown by a command for what only the person at the keyboard can mend; exit code kUsage.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Generated from the files in commands/.
void add_commands(Program& program);

}  // namespace krt::cli
