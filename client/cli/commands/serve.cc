#include "server/serve.h"

#include <cctype>

#include "client/cli/program.h"

namespace krt::cli {
namespace {

struct Flags {
  ServerOptions options;
  std::int64_t lame_duck_ms = options.lame_duck.count();
  std::int64_t drain_ms = options.drain.count();
  std::int64_t max_stall_ms = options.max_stall.count();
};

// A flag and the variable of the same name: --max-in-flight, KRT_MAX_IN_FLIGHT.
template <class T>
CLI::Option* setting(CLI::App& command, const std::string& name, T& value, const std::string& text) {
  std::string variable = "KRT_" + name;
  for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return command.add_option("--" + name, value, text)->envname(variable)->capture_default_str();
}

int run(Program& program, Flags& flags) {
  flags.options.lame_duck = std::chrono::milliseconds(flags.lame_duck_ms);
  flags.options.drain = std::chrono::milliseconds(flags.drain_ms);
  flags.options.max_stall = std::chrono::milliseconds(flags.max_stall_ms);
  if (const Status bad = check(flags.options); !bad.ok()) throw UsageError(bad.message());
  return serve(program.local(), flags.options);
}

}  // namespace

void add_serve(Program& program) {
  auto flags = std::make_shared<Flags>();
  CLI::App& c =
      program.command("serve", "Serve the kernels over gRPC", [&program, flags] { return run(program, *flags); });
  ServerOptions& o = flags->options;
  const CLI::AsSizeValue bytes(false);  // "64MiB"
  setting(c, "listen", o.listen, "Address to listen at; port 0 takes a free one");
  c.add_flag("--allow-remote", o.allow_remote, "Listen beyond loopback: nothing is encrypted or authenticated")
      ->envname("KRT_ALLOW_REMOTE");
  setting(c, "max-message-bytes", o.max_message_bytes, "Limit of one request or response")->transform(bytes);
  setting(c, "max-in-flight", o.max_in_flight, "Calls admitted and not yet answered");
  setting(c, "max-in-flight-bytes", o.max_in_flight_bytes, "Their bytes")->transform(bytes);
  setting(c, "max-queued", o.max_queued, "Calls that wait for a worker thread");
  setting(c, "max-stall-ms", flags->max_stall_ms, "How long a stream waits for a client that does not read");
  setting(c, "worker-threads", o.worker_threads, "Calls that run at the same time; 0 is the machine's threads");
  setting(c, "lame-duck-ms", flags->lame_duck_ms, "On SIGTERM: time with health NOT_SERVING and calls still taken");
  setting(c, "drain-ms", flags->drain_ms, "Then: time that calls in flight may take");
  setting(c, "log-level", o.log_level, "trace, debug, info, warn, error or off");
}

}  // namespace krt::cli
