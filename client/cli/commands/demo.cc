#include <random>

#include "client/cli/process.h"
#include "client/cli/program.h"
#include "client/cli/text.h"
#include "client/cpp/remote_runtime.h"

namespace krt::cli {
namespace {

constexpr std::int64_t kVocabulary = 151936;  // of Qwen3

struct Call {
  std::string title, module, function;
  List args;
};

std::vector<double> random_values(std::int64_t n) {
  std::mt19937_64 engine(static_cast<std::uint64_t>(n));
  std::vector<double> out(static_cast<std::size_t>(n));
  for (double& x : out) x = static_cast<double>(engine() >> 11U) * 0x1p-53 - 0.5;
  return out;
}

Call projection(std::int64_t m, std::int64_t n) {
  return {std::to_string(m) + " x " + std::to_string(n),
          "llmk.gemv_fast",
          "gemv_transposed_parallel_flat",
          {random_values(m * n), random_values(m), m, n}};
}

// The calls of a decode step: the small examples, a logits row, and the projections of Qwen3-0.6B.
std::vector<Call> calls() {
  using Doubles = std::vector<double>;
  return {
      {"6 values", "llmk.residual", "residual_add_flat", {Doubles{0, 1, 2, 3, 4, 5}, Doubles{10, 9, 8, 7, 6, 5}, 6}},
      {"a wrong length", "llmk.residual", "residual_add_flat", {Doubles{0, 1, 2}, Doubles{3, 2}, 3}},
      {"4 + 2 values", "llmk.generate", "kv_cache_append_flat", {Doubles{1, 2, 3, 4}, Doubles{5, 6}, 4, 2}},
      {"562", "llmk.contract", "llmk_status_name", {562}},
      {"a row of " + std::to_string(kVocabulary),
       "llmk.generate",
       "greedy_argmax_flat",
       {random_values(kVocabulary), kVocabulary}},
      projection(1024, 2048),
      projection(1024, 3072),
      projection(3072, 1024),
  };
}

// "n 6, status 560": a list is left to the comparison of bits.
std::string summary(const ExecuteResult& r) {
  const auto* dict = r.result.get_if<Dict>();
  if (!r.success()) return r.error.message();
  if (dict == nullptr) return plain(r.result);
  std::string out;
  for (const auto& [name, value] : *dict)
    if (value.kind() != Kind::kTensor && value.kind() != Kind::kList)
      out += (out.empty() ? "" : ", ") + name + " " + plain(value);
  return out;
}

std::string milliseconds(Clock::time_point start) {
  std::array<char, 32> text{};
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  std::snprintf(text.data(), text.size(), "%.2f", ms);
  return text.data();
}

// Runs every call on both, prints a line for each pair; how many pairs differ.
int compare(Program& program, RuntimeApi& here, RuntimeApi& there) {
  int differ = 0;
  std::vector<std::vector<std::string>> rows{{"function", "argument", "here", "on the server", "bits", "ms", "ms"}};
  for (const Call& call : calls()) {
    const Clock::time_point start = Clock::now();
    const ExecuteResult a = here.execute(call.module, call.function, call.args);
    const std::string ms_here = milliseconds(start);
    const Clock::time_point middle = Clock::now();
    const ExecuteResult b = there.execute(call.module, call.function, call.args);
    const std::string ms_there = milliseconds(middle);
    const bool equal = a.success() && b.success() && identical(a.result, b.result);
    if (!equal) ++differ;
    rows.push_back({call.function, call.title, summary(a), summary(b), equal ? "equal" : "DIFFER", ms_here, ms_there});
  }
  program.print(columns(rows, 2));
  return differ;
}

int run(Program& program) {
  Child server({"serve", "--listen", "127.0.0.1:0", "--log-level", "warn", "--lame-duck-ms", "0"});
  const std::string first = server.read_line();
  const std::size_t space = first.rfind(' ');
  if (!first.starts_with("listening on ") || space == first.npos)
    return program.failed({Reason::kRuntimeUnavailable, "the server did not start"});
  const std::string address = first.substr(space + 1);
  program.print("The same calls in this process and on the server at " + address + ":\n\n");
  RemoteRuntime remote({address});
  const int differ = compare(program, program.local(), remote);

  const Result<std::vector<ModuleInfo>> modules = remote.list_modules();
  if (!modules.ok()) return program.failed(modules.status());
  std::vector<std::vector<std::string>> rows;
  std::size_t functions = 0;
  for (const ModuleInfo& module : *modules) {
    rows.push_back({module.name, std::to_string(module.functions.size())});
    functions += module.functions.size();
  }
  program.print("\nThe server's inventory, " + std::to_string(functions) + " functions in " +
                std::to_string(modules->size()) + " modules:\n\n" + columns(rows, 2));
  const int ended = server.terminate();
  if (ended != 0) program.warn("the server ended with status " + std::to_string(ended));
  return differ == 0 && ended == 0 ? kDone : kFailed;
}

}  // namespace

void add_demo(Program& program) {
  program.command("demo", "Run llmk kernels here and on a server of its own, and compare the bits",
                  [&program] { return run(program); });
}

}  // namespace krt::cli
