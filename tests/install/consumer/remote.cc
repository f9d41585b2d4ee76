// The same interface, on a server in this process.
#include <client/cpp/remote_runtime.h>
#include <modules/builtin.h>
#include <runtime/runtime.h>
#include <server/server.h>

#include <cstdio>

int main() {
  krt::Runtime local(krt::builtin_registry());
  krt::ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.lame_duck = std::chrono::milliseconds(0);
  const auto server = krt::Server::start(local, options);
  if (!server.ok()) return 2;
  krt::RemoteOptions remote_options;
  remote_options.address = (*server)->address();
  krt::RemoteRuntime remote(remote_options);
  const krt::List args{std::vector<double>{1, 2, 3}, std::vector<double>{4, 5, 6}, 3};
  const krt::Value here = local.execute("llmk.residual", "residual_add_flat", args).result;
  const krt::Value there = remote.execute("llmk.residual", "residual_add_flat", args).result;
  const bool right = identical(here, there) && identical(there["status"], 560);
  std::puts(right ? "right" : "wrong");
  return right ? 0 : 1;
}
