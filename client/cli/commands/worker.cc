#include "server/worker/worker.h"

#include <csignal>

#include "client/cli/program.h"

namespace krt::cli {
namespace {

std::atomic<worker::Worker*> serving = nullptr;  // for the signal handler

void on_signal(int) {
  if (worker::Worker* w = serving) w->stop();
}

int serve(Program& program, const std::string& socket) {
  Result<std::unique_ptr<worker::Worker>> worker = worker::Worker::listen(program.local(), socket);
  if (!worker.ok()) return program.failed(worker.status());
  serving = worker->get();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, on_signal);
  program.print("listening at " + socket + "\n");
  (*worker)->serve();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_DFL);
  serving = nullptr;
  return kDone;
}

}  // namespace

void add_worker(Program& program) {
  auto socket = std::make_shared<std::string>();
  CLI::App& command = program.command("worker", "Serve the public Python client on a Unix socket",
                                      [&program, socket] { return serve(program, *socket); });
  command.add_option("--server", *socket, "Path of the socket to listen at")->required()->type_name("PATH");
}

}  // namespace krt::cli
