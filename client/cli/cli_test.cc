// The program in this process: what it prints and what it answers to the shell. tests/e2e runs it as a process.

#include <gtest/gtest.h>

#include <fstream>

#include "client/cli/program.h"
#include "client/cli/text.h"
#include "modules/builtin.h"
#include "runtime/codec/json.h"
#include "runtime/testing/temp_dir.h"
#include "server/server.h"

namespace krt::cli {
namespace {

struct Ran {
  int exit;
  std::string out, err;
};

Ran run(std::vector<std::string> arguments) {
  Ran ran;
  Program program([&](std::string_view text) { ran.out += text; }, [&](std::string_view text) { ran.err += text; });
  std::vector<const char*> argv{"krt"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ran.exit = program.run(static_cast<int>(argv.size()), argv.data());
  return ran;
}

Value json(const std::string& line) {
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  Result<Value> parsed = parse_json(line);
  EXPECT_TRUE(parsed.ok()) << line;
  return parsed.ok() ? *parsed : Value();
}

const std::vector<std::string> kAdd{"execute", "llmk.residual", "residual_add_flat", "--args-json"};

std::vector<std::string> add(std::string args, std::vector<std::string> more = {}) {
  std::vector<std::string> all = kAdd;
  all.push_back(std::move(args));
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(Cli, ExecutePrintsTheResult) {
  const Ran ran = run(add("[[1,2,3],[4,5,6],3]"));
  EXPECT_EQ(ran.exit, kDone);
  EXPECT_EQ(ran.out, "out     [5.0,7.0,9.0]\nn       3\nstatus  560 llmk_ok\n");
  EXPECT_EQ(ran.err, "");
}

TEST(Cli, AKernelsRefusalIsDone) {
  const Ran ran = run(add("[[1,2,3],[4,5,6],4]"));
  EXPECT_EQ(ran.exit, kDone);
  EXPECT_EQ(ran.out, "out     []\nn       0\nstatus  562 llmk_a_length_mismatch\n");
}

TEST(Cli, JsonIsTheResultObjectOnOneLine) {
  const Ran ran = run(add(R"({"a":[1.5],"b":[2.5],"n":1})", {"--format", "json", "--request-id", "r-1"}));
  EXPECT_EQ(ran.exit, kDone);
  const Value r = json(ran.out);
  EXPECT_TRUE(identical(r["success"], true));
  EXPECT_TRUE(identical(r["request_id"], "r-1"));
  EXPECT_TRUE(identical(r["result"], Dict{{"out", std::vector<double>{4.0}}, {"n", 1}, {"status", 560}}));
  EXPECT_TRUE(identical(r["status_name"], "llmk_ok"));
}

TEST(Cli, FailuresAreExitOneWithASentence) {
  const struct {
    std::vector<std::string> arguments;
    std::string_view error;
  } rows[] = {
      {{"execute", "llmk.nope", "f"}, "krt: module_not_registered: Unknown runtime library 'llmk.nope'\n"},
      {{"execute", "llmk.residual", "_f"},
       "krt: function_not_registered: Runtime library 'llmk.residual' does not expose '_f'\n"},
      {add("[[1],[2]]"),
       "krt: invalid_arguments: llmk.residual.residual_add_flat: argument 'n' is missing; it takes (a, b, n)\n"},
      {add("[[1],[2],1.0]"),
       "krt: invalid_arguments: llmk.residual.residual_add_flat: argument 'n' must be int, got float\n"},
      {add("[["),
       "krt: invalid_arguments: malformed JSON at byte 2: unexpected end of input; expected '[', '{', or a literal\n"},
      {add("\xff"), "krt: invalid_arguments: malformed JSON at byte 0: invalid literal\n"},
      {{"functions", "nope"}, "krt: module_not_registered: Unknown runtime library 'nope'\n"},
      {{"describe", "llmk.residual.nope"},
       "krt: function_not_registered: Runtime library 'llmk.residual' does not expose 'nope'\n"},
      {{"describe", "a.b.c"}, "krt: module_not_registered: Unknown runtime library 'a.b.c'\n"},
  };
  for (const auto& row : rows) {
    const Ran ran = run(row.arguments);
    EXPECT_EQ(ran.exit, kFailed) << row.error;
    EXPECT_EQ(ran.err, row.error);
    EXPECT_EQ(ran.out, "");
  }
}

TEST(Cli, AFailureIsAResultObjectToo) {
  const Ran ran = run(add("[[", {"--format", "json"}));
  EXPECT_EQ(ran.exit, kFailed);
  const Value r = json(ran.out);
  EXPECT_TRUE(identical(r["success"], false));
  EXPECT_TRUE(identical(r["error_code"], "invalid_arguments"));
  EXPECT_TRUE(identical(r["engine_used"], "none"));
}

TEST(Cli, UsageIsExitTwo) {
  const testing::TempDir dir;
  const std::vector<std::vector<std::string>> rows{
      {},
      {"nope"},
      {"execute"},
      {"execute", "llmk.residual"},
      {"modules", "--format", "xml"},
      {"modules", "--threads", "-1"},
      {"modules", "--nope"},
      add("@" + dir.file("missing.json")),
      add("@" + dir.path()),
      {"worker"},
      {"worker", "--server", dir.file("s"), "--remote", "127.0.0.1:1"},
      {"completions", "tcsh"},
      {"serve", "--max-message-bytes", "many"},
      {"serve", "--max-queued", "0"},
  };
  for (const auto& row : rows) {
    const Ran ran = run(row);
    EXPECT_EQ(ran.exit, kUsage) << ::testing::PrintToString(row) << ran.out;
    EXPECT_NE(ran.err, "");
    EXPECT_EQ(ran.out, "");
  }
}

TEST(Cli, ArgumentsFromAFile) {
  const testing::TempDir dir;
  std::ofstream(dir.file("args.json")) << "[[1],[2],1]\n";
  EXPECT_EQ(run(add("@" + dir.file("args.json"))).out, "out     [3.0]\nn       1\nstatus  560 llmk_ok\n");
}

TEST(Cli, TheInventory) {
  const Ran modules = run({"modules"});
  EXPECT_NE(modules.out.find("llmk.residual "), std::string::npos);
  const Value list = json(run({"modules", "--format", "json"}).out);
  EXPECT_EQ(std::ssize(*list.get_if<List>()), std::count(modules.out.begin(), modules.out.end(), '\n'));
  EXPECT_EQ(run({"functions", "llmk.residual"}).out, "residual_add_flat\n");
  const Ran function = run({"describe", "llmk.residual.residual_add_flat"});
  for (const std::string_view part : {"residual_add_flat(a: f64[n], b: f64[n], n: int) -> ResidResult{", "562",
                                      "llmk_a_length_mismatch", "left operand, exactly n values", "bit_exact"})
    EXPECT_NE(function.out.find(part), std::string::npos) << part;
  EXPECT_NE(run({"describe", "llmk.residual"}).out.find("residual_add_flat  "), std::string::npos);
  const Value described = json(run({"describe", "llmk.residual.residual_add_flat", "--format", "json"}).out);
  EXPECT_TRUE(identical(described["result_struct"], "ResidResult"));
}

TEST(Cli, HelpIsDoneAndNamesTheExitCodes) {
  const Ran ran = run({"--help"});
  EXPECT_EQ(ran.exit, kDone);
  EXPECT_NE(ran.out.find("the server cannot be reached"), std::string::npos);
  const Ran sub = run({"serve", "--help"});
  EXPECT_EQ(sub.exit, kDone);
  EXPECT_NE(sub.out.find("KRT_MAX_IN_FLIGHT"), std::string::npos);
}

TEST(Cli, DoctorAndCompletionsCoverTheProgram) {
  const Value report = json(run({"doctor", "--format", "json", "--threads", "3"}).out);
  EXPECT_TRUE(identical(report["threads"]["arena"], 3));
  EXPECT_TRUE(identical(report["cpu"]["scalar"], "yes"));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Ran ran = run({"completions", shell});
    EXPECT_EQ(ran.exit, kDone);
    for (const std::string_view word : {"execute", "args-json", "doctor", "remote"})
      EXPECT_NE(ran.out.find(word), std::string::npos) << shell << " " << word;
  }
}

TEST(Cli, RemotePrintsWhatLocalPrints) {
  Runtime runtime(builtin_registry(), {.threads = 2});
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.lame_duck = std::chrono::milliseconds(0);
  options.log_level = "off";
  const Result<std::unique_ptr<Server>> server = Server::start(runtime, options);
  ASSERT_TRUE(server.ok()) << server.status().message();
  const std::string address = (*server)->address();
  const std::vector<std::vector<std::string>> rows{
      {"modules"},
      {"functions", "llmk.contract"},
      {"functions", "nope"},
      {"describe", "llmk.generate"},
      {"describe", "llmk.residual.residual_add_flat", "--format", "json"},
      add("[[1,2,3],[4,5,6],3]"),
      add("[[\"NaN\",2],[4,\"-Infinity\"],2]"),
      add("[[1,2,3],[4,5,6],4]"),
      add("[[1],[2],true]"),
      {"execute", "llmk.contract", "llmk_status_name", "--args-json", "562"},
  };
  for (std::vector<std::string> row : rows) {
    const Ran here = run(row);
    row.insert(row.end(), {"--remote", address});
    const Ran there = run(row);
    EXPECT_EQ(there.exit, here.exit) << ::testing::PrintToString(row);
    EXPECT_EQ(there.out, here.out);
    EXPECT_EQ(there.err, here.err);
  }
  const Ran health = run({"health", "--remote", address});
  EXPECT_EQ(health.exit, kDone);
  EXPECT_TRUE(health.out.starts_with("serving: " + address)) << health.out;
  (*server)->drain();
  const Ran gone = run({"health", "--remote", address});
  EXPECT_EQ(gone.exit, kUnreachable);
  EXPECT_TRUE(gone.err.starts_with("krt: compute_runtime_unavailable: ")) << gone.err;
  EXPECT_EQ(run({"modules", "--remote", address}).exit, kUnreachable);
  EXPECT_EQ(run({"execute", "m", "f", "--remote", address}).exit, kUnreachable);
}

TEST(Text, LongListsAreCutAndColumnsAligned) {
  EXPECT_EQ(preview(std::vector<double>(8, 1.0)), "[1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0]");
  EXPECT_EQ(preview(std::vector<std::int64_t>(9, 7)), "[7,7,7,7,7,7,7,7, ... 9 values]");
  EXPECT_EQ(preview(List(9, Value("x"))), R"(["x","x","x","x","x","x","x","x", ... 9 values])");
  EXPECT_EQ(columns({{"a", "bb", ""}, {"ccc", "d", "e"}}, 1), " a    bb\n ccc  d   e\n");
}

}  // namespace
}  // namespace krt::cli
