// The program in this process: what it prints and what it answers to the shell. tests/e2e runs it as a process.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include "client/cli/program.h"
#include "client/cli/text.h"
#include "engine/model/chat_model.h"
#include "engine/tokenizer/unicode.h"
#include "modules/builtin.h"
#include "runtime/codec/json.h"
#include "runtime/testing/fixture.h"
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

// Runs with `text` as standard input.
Ran run_with_input(const std::string& text, std::vector<std::string> arguments) {
  const testing::TempDir dir;
  std::ofstream(dir.file("input"), std::ios::binary) << text;
  const int saved = ::dup(STDIN_FILENO), input = ::open(dir.file("input").c_str(), O_RDONLY);
  ::dup2(input, STDIN_FILENO);
  const Ran ran = run(std::move(arguments));
  ::dup2(saved, STDIN_FILENO);
  ::close(input);
  ::close(saved);
  return ran;
}

TEST(Cli, TokenizeReadsStandardInput) {
  if (!engine::unicode_ready().ok()) GTEST_SKIP() << engine::unicode_ready().message();
  const testing::TempDir dir;
  const std::string model = dir.file("model.gguf");
  std::ofstream(model, std::ios::binary) << testing::fixture_bytes("tokenizer_bpe.gguf");
  const Ran ids = run_with_input("a\xFF<|im_end|>", {"tokenize", "-m", model, "--ids", "--parse-special"});
  EXPECT_EQ(ids.exit, kDone) << ids.err;
  EXPECT_TRUE(ids.out.ends_with(",1502\n")) << ids.out;
  const Ran table = run_with_input("a\x1b<|im_end|>", {"tokenize", "-m", model, "--parse-special"});
  EXPECT_NE(table.out.find("\"\\u001b\"\n"), std::string::npos) << table.out;
  EXPECT_TRUE(table.out.ends_with("1502  \"<|im_end|>\"\n")) << table.out;
  const Value both = json(run_with_input("a", {"tokenize", "-m", model, "--format", "json"}).out);
  EXPECT_TRUE(identical(both["pieces"], List{Value("a")}));
  const Ran text = run_with_input("<|im_end|>", {"tokenize", "-m", model, "--ids"});
  EXPECT_EQ(text.out.find("1502"), std::string::npos) << text.out;
  EXPECT_EQ(run_with_input("a", {"tokenize", "-m", dir.file("missing")}).exit, kFailed);
  EXPECT_EQ(run({"tokenize"}).exit, kUsage);
}

TEST(Cli, GgufShowsAndReadsAModelFile) {
  const testing::TempDir dir;
  const std::string model = dir.file("model.gguf");
  engine::GgufWriter w;
  w.add("general.name", std::string_view("a\x1b[2J\xFF"));
  w.add("list", std::vector<float>{1, 2.5F});
  const std::vector<std::int64_t> dims{2, 1};
  const std::vector<std::uint8_t> halves{0, 0x3C, 0, 0xC0};  // 1 and -2
  w.tensor("t", 1, dims, halves);
  std::vector<std::uint8_t> file = w.finish();
  const auto write = [&] {
    std::ofstream(model, std::ios::binary).write(reinterpret_cast<const char*>(file.data()), std::ssize(file));
  };
  write();
  const Ran table = run({"gguf", model});
  EXPECT_EQ(table.exit, kDone) << table.err;
  EXPECT_EQ(table.out,
            "version  3\nshards   1\nkeys     2\ntensors  1\n\nKeys\n  general.name  'a\\x1b[2J\\xff'\n"
            "  list          [1.0,2.5]\n\nTensors\n  t  F16  1 x 2  4 bytes\n");
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--json"}, {"--format", "json"}}) {
    std::vector<std::string> arguments{"gguf", model};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Value r = json(run(arguments).out);
    EXPECT_TRUE(identical(r["tensors"].get_if<List>()->front()["name"], "t"));
    EXPECT_TRUE(identical(r["metadata"]["general.name"], "a\x1b[2J\uFFFD"));
  }
  const std::string_view floats("\0\0\x80\x3F\0\0\0\xC0", 8);
  EXPECT_EQ(run({"gguf", "read", model, "t", "--format", "f32"}).out, floats);
  const Ran to_file = run({"gguf", "read", model, "t", "-o", dir.file("out")});
  EXPECT_EQ(to_file.out + to_file.err, "");
  std::ifstream in(dir.file("out"), std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), floats);
  EXPECT_EQ(run({"gguf", "read", model, "u"}).err,
            "krt: invalid_arguments: argument 'tensor': the file has no tensor 'u'\n");
  EXPECT_EQ(run({"gguf"}).exit, kUsage);
  EXPECT_EQ(run({"gguf", "read", model, "t", "--format", "f16"}).exit, kUsage);

  file.resize(file.size() - 30);  // the tensor's data is gone
  write();
  const Ran refused = run({"gguf", model});
  EXPECT_EQ(refused.exit, kFailed);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
  EXPECT_NE(refused.err.find("tensor 't' lies outside the file"), std::string::npos) << refused.err;
}

TEST(Cli, QuantizeWritesAFileThatGenerates) {
  const testing::TempDir dir;
  const std::string from = dir.file("f16.gguf"), to = dir.file("q6_k.gguf"), plain = dir.file("q8_0.gguf");
  std::ofstream(from, std::ios::binary) << testing::fixture_bytes("shakespeare/f16.gguf");
  const Ran ran = run({"quantize", from, to, "q6_k"});
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  EXPECT_NE(ran.out.find("'blk.0.attn_q.weight'       128 x 128   F16 -> Q8_0  17408 bytes   rows of 128 are no whole "
                         "number of Q6_K blocks of 256\n"),
            std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("'blk.0.attn_norm.weight'    128         F32 -> F32   512 bytes\n"), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("\n1.8 MiB of tensors became a file of 1.0 MiB in "), std::string::npos) << ran.out;
  const Value described =
      json(run({"quantize", from, plain, "Q8_0", "--format", "json", "--token-embedding-type", "q5_1"}).out);
  EXPECT_TRUE(identical(described["tensors"].get_if<List>()->front()["to"], "Q5_1"));

  const std::vector<std::string> generate{"generate", "-m", to, "--prompt-ids", "1,2,3", "-n", "8", "--ids"};
  const Ran text = run(generate);
  EXPECT_EQ(text.exit, kDone) << text.err;
  EXPECT_EQ(std::count(text.out.begin(), text.out.end(), ','), 7);

  const Ran again = run({"quantize", from, to, "q4_0"});
  EXPECT_EQ(again.exit, kFailed);
  EXPECT_EQ(again.err, "krt: invalid_arguments: '" + to + "' exists; to write over it has to be asked for (--force)\n");
  EXPECT_EQ(run({"quantize", from, to, "q4_0", "--force"}).exit, kDone);
  EXPECT_EQ(run({"quantize", dir.file("missing"), to, "q4_0", "--force"}).exit, kFailed);
  const Ran unknown = run({"quantize", from, to, "iq4_xs", "--force"});
  EXPECT_EQ(unknown.exit, kUsage);
  EXPECT_TRUE(unknown.err.starts_with("krt: no format 'IQ4_XS' to write; there are F32, F16, ")) << unknown.err;
  EXPECT_EQ(run({"quantize", from, to}).exit, kUsage);
}

TEST(Cli, GenerateWritesIdsGapsAndTimings) {
  const testing::TempDir folder;
  const std::string model = folder.file("model.gguf");
  std::ofstream(model, std::ios::binary) << testing::fixture_bytes("model/llama_gqa.gguf");
  const std::vector<std::string> base{"generate", "-m", model, "--prompt-ids", "3,14,15", "-n", "5"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return run(more);
  };
  const Ran ids = with({"--ids"});
  EXPECT_EQ(ids.exit, kDone) << ids.err;
  EXPECT_EQ(std::count(ids.out.begin(), ids.out.end(), ','), 4) << ids.out;
  EXPECT_NE(ids.err.find("(llama, 2 layers)"), std::string::npos) << ids.err;
  EXPECT_NE(ids.err.find("; decode 5 tokens, "), std::string::npos) << ids.err;
  EXPECT_NE(ids.err.find(" MiB\n"), std::string::npos) << ids.err;
  // The reference chooses the same tokens; with gaps they are a line each.
  EXPECT_EQ(with({"--ids", "--reference"}).out, ids.out);
  const Ran gaps = with({"--top2", "--chunk", "2", "--cache", "f32"});
  EXPECT_EQ(std::count(gaps.out.begin(), gaps.out.end(), '\n'), 5) << gaps.out;
  EXPECT_TRUE(gaps.out.starts_with(ids.out.substr(0, ids.out.find(',')) + " ")) << gaps.out;
  const Value r = json(with({"--format", "json", "--top2"}).out);
  std::string lines;
  for (std::size_t i = 0; i < 5; ++i) {
    std::array<char, 64> line{};
    std::snprintf(line.data(), line.size(), "%lld %.9g\n",
                  static_cast<long long>(r["ids"].get_if<Tensor>()->as<std::int64_t>()[i]),
                  r["gaps"].get_if<Tensor>()->as<double>()[i]);
    lines += line.data();
  }
  EXPECT_EQ(with({"--top2"}).out, lines);
  EXPECT_TRUE(identical(r["finish"], "length"));
  EXPECT_TRUE(identical(r["prompt_ids"], std::vector<std::int64_t>{3, 14, 15}));
  EXPECT_EQ(r["ids"].get_if<Tensor>()->elements(), 5);
}

std::string chat_model(const testing::TempDir& dir) {
  const std::vector<std::uint8_t> bytes = engine::chat_model("<|im_start|><|im_end|>");
  std::ofstream(dir.file("chat.gguf"), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  return dir.file("chat.gguf");
}

TEST(Cli, ChatAnswersALineAtATime) {
  if (!engine::unicode_ready().ok()) GTEST_SKIP() << engine::unicode_ready().message();
  const testing::TempDir dir;
  const std::string model = chat_model(dir);
  const std::vector<std::string> base{"chat", "-m", model, "-n", "6", "--system", "You are HAMLET."};
  const Ran text = run_with_input("My lord?\n\nAnd the queen?\n/clear\nMy lord?\n/exit\nMy lord?", base);
  EXPECT_EQ(text.exit, kDone) << text.err;
  EXPECT_NE(text.err.find("; decode 18 tokens, "), std::string::npos) << text.err;
  std::vector<std::string> with_json = base;
  with_json.insert(with_json.end(), {"--format", "json"});
  const Ran lines = run_with_input("My lord?\nAnd the queen?\n/clear\nMy lord?", with_json);
  std::vector<Value> turns;
  std::istringstream in(lines.out);
  for (std::string line; std::getline(in, line);) turns.push_back(json(line + "\n"));
  ASSERT_EQ(turns.size(), 3U) << lines.out << lines.err;
  std::string answers;
  for (const Value& turn : turns) answers += *turn["assistant"].get_if<std::string>() + "\n";
  EXPECT_EQ(text.out, answers);
  EXPECT_TRUE(identical(turns[0]["assistant"], turns[2]["assistant"]));
  EXPECT_TRUE(identical(turns[0]["read"], turns[2]["read"]));
  EXPECT_TRUE(identical(turns[1]["finish"], "length"));
  EXPECT_FALSE(identical(turns[1]["read"], turns[0]["read"]));  // without the system message
  // The same options as generate's: a seed draws the same text.
  std::vector<std::string> drawn = base;
  drawn.insert(drawn.end(), {"--temp", "1", "--seed", "7"});
  EXPECT_EQ(run_with_input("My lord?", drawn).out, run_with_input("My lord?", drawn).out);
  EXPECT_NE(run_with_input("My lord?", drawn).out, answers.substr(0, answers.find('\n') + 1));
}

TEST(Cli, ChatSaysWhatIsWrong) {
  const testing::TempDir dir;
  const std::string model = dir.file("model.gguf");
  std::ofstream(model, std::ios::binary) << testing::fixture_bytes("shakespeare/q8_0.gguf");
  const Ran untold = run_with_input("My lord?", {"chat", "-m", model});
  EXPECT_EQ(untold.exit, kFailed);
  EXPECT_TRUE(untold.err.ends_with("krt: invalid_arguments: the model file has no chat template\n")) << untold.err;
  EXPECT_EQ(run({"chat"}).exit, kUsage);
  EXPECT_EQ(run({"chat", "-m", model, "--context", "-1"}).exit, kUsage);
  if (!engine::unicode_ready().ok()) GTEST_SKIP() << engine::unicode_ready().message();
  const Ran full = run_with_input("My lord?\n", {"chat", "-m", chat_model(dir), "--context", "10"});
  EXPECT_EQ(full.exit, kFailed);
  EXPECT_TRUE(full.err.ends_with(" tokens, and room is for 10\n")) << full.err;
}

TEST(Cli, GenerateSaysWhatIsWrong) {
  EXPECT_EQ(run({"generate", "-m", "/nowhere.gguf", "-p", "a"}).exit, kFailed);
  EXPECT_EQ(run({"generate", "-m", "/nowhere.gguf"}).exit, kUsage);
  EXPECT_EQ(run({"generate", "-p", "a"}).exit, kUsage);
  const testing::TempDir folder;
  const std::string model = folder.file("model.gguf");
  std::ofstream(model, std::ios::binary) << testing::fixture_bytes("model/llama_gqa.gguf");
  const Ran text = run({"generate", "-m", model, "-p", "a"});
  EXPECT_EQ(text.exit, kFailed);
  EXPECT_NE(text.err.find("krt: invalid_arguments: the model file has no tokenizer"), std::string::npos) << text.err;
  EXPECT_EQ(run({"generate", "-m", model, "--prompt-ids", "1,x"}).exit, kUsage);
  EXPECT_EQ(run({"generate", "-m", model, "--prompt-ids", "48"}).exit, kFailed);
}

TEST(Text, LongListsAreCutAndColumnsAligned) {
  EXPECT_EQ(preview(std::vector<double>(8, 1.0)), "[1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0]");
  EXPECT_EQ(preview(std::vector<std::int64_t>(9, 7)), "[7,7,7,7,7,7,7,7, ... 9 values]");
  EXPECT_EQ(preview(List(9, Value("x"))), R"(["x","x","x","x","x","x","x","x", ... 9 values])");
  EXPECT_EQ(columns({{"a", "bb", ""}, {"ccc", "d", "e"}}, 1), " a    bb\n ccc  d   e\n");
}

}  // namespace
}  // namespace krt::cli
