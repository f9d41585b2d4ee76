#pragma once
// What a server can be told. `krt serve --help` has the flags and KRT_* variables of the same names.

#include <chrono>
#include <cstddef>
#include <string>

#include "runtime/core/status.h"

namespace krt {

struct ServerOptions {
  std::string listen = "127.0.0.1:50099";  // HOST:PORT or [IPV6]:PORT; port 0: any free one
  // Addresses other than loopback are refused without it: nothing on the wire is encrypted or authenticated.
  bool allow_remote = false;

  std::size_t max_message_bytes = std::size_t{64} << 20U;  // of one request or response; at most 1 GiB
  // Calls admitted and not yet answered, and their bytes; more are answered RESOURCE_EXHAUSTED at once.
  std::size_t max_in_flight = 512;
  std::size_t max_in_flight_bytes = std::size_t{1} << 30U;
  std::size_t max_queued = 256;  // of those, waiting for a worker
  int worker_threads = 0;        // calls that run at the same time; 0: as many as the machine has, at least 2

  // How long the messages of a stream may wait for a client that does not read; meanwhile the call keeps its worker.
  std::chrono::milliseconds max_stall{30000};

  // On a request to stop: how long calls are still taken while health says NOT_SERVING, and then how long calls in
  // flight may take before they are cancelled.
  std::chrono::milliseconds lame_duck{500};
  std::chrono::milliseconds drain{30000};

  std::string log_level = "info";  // trace, debug (a line per request), info, warn, error, off
};

// invalid_arguments naming the option, with its bounds.
Status check(const ServerOptions& options);

}  // namespace krt
