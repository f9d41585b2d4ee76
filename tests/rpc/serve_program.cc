// A server process of the test kernels: serve_test starts it. The argument is an address to listen on.
#include "server/serve.h"
#include "tests/rpc/rpc_testing.h"

int main(int argc, char** argv) {
  krt::ServerOptions options = krt::testing::quiet_options();
  if (argc > 1) options.listen = argv[1];
  options.worker_threads = 2;  // one that blocks, one that goes on
  krt::Runtime runtime(krt::testing::test_registry());
  return krt::serve(runtime, options);
}
