#pragma once
// serve: a server process, but for its flags and the kernels it serves.

#include "runtime/api.h"
#include "server/options.h"

namespace krt {

// Starts a server, prints `listening on HOST:PORT` as the first line of standard output, and serves until SIGTERM or
// SIGINT, which drain it; a second one ends it without waiting for calls in flight. What goes wrong is one line on
// standard error. Returns the process's exit status: 0, or 1 where it could not start or calls had to be cancelled.
// A kernel that does not end keeps no process alive: ten seconds past its times, the process exits with status 1.
int serve(RuntimeApi& runtime, const ServerOptions& options);

// What serve() does to its process first: freed memory is kept for the next large message, and as many file descriptors
// are allowed as the system permits.
void tune_process();

}  // namespace krt
