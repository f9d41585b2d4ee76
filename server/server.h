#pragma once
// Server: a runtime on a port. It serves algenta.runtime.v1.CodnaRuntime, krt.v1.KernelRuntime, grpc.health.v1.Health
// and reflection, and knows no kernel.
//
//   krt::Runtime runtime(krt::builtin_registry());
//   auto server = krt::Server::start(runtime, options);
//   ... (*server)->port() ...
//   (*server)->drain();
//
// Each method may be called from any thread.

#include <memory>
#include <string>

#include "runtime/api.h"
#include "server/options.h"

namespace krt {

class Server {
 public:
  // Listens and serves. `runtime` outlives the server. invalid_arguments: an option; failed_precondition: the address
  // cannot be had.
  static Result<std::unique_ptr<Server>> start(RuntimeApi& runtime, const ServerOptions& options = {});
  ~Server();  // as shutdown()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] int port() const;
  [[nodiscard]] const std::string& address() const;  // "127.0.0.1:43125"

  // Stops without losing an answer, and returns when all is done: health says NOT_SERVING; for options.lame_duck calls
  // are still taken; then new ones are answered UNAVAILABLE while those in flight have options.drain to end, after
  // which they are cancelled. A call of it, or of shutdown(), from another thread ends the lame-duck time at once.
  // True where every call in flight was answered.
  bool drain();
  // The same without waiting: calls in flight are cancelled, and waited for (kernels end at their next checkpoint).
  void shutdown();
  // Returns when the server has stopped.
  void wait();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace krt
