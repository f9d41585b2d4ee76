// dispatch_peers LIBRARY...: krt's dispatch benchmarks with each peer in turn in place of the direct call.

#include <dlfcn.h>

#include <cstdlib>
#include <iostream>

#include "runtime/bench/bench.h"
#include "tests/peers/dispatch/peer.h"

namespace krt::bench {
void bench_dispatch(Suite& suite);
}

namespace {

using PeerCall = decltype(krt_peer_resolved);
constexpr int kCalls = 1000;  // as a run() of the case itself
constexpr double kWant = 10.5;

PeerCall* symbol(void* library, const char* name) {
  auto* call = reinterpret_cast<PeerCall*>(dlsym(library, name));
  if (call != nullptr && call(1) == kWant) return call;
  std::cerr << name << " is not there or answers something else\n";
  std::exit(1);
}

void compare(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::cerr << dlerror() << '\n';
    std::exit(1);
  }
  krt::bench::Suite suite;
  krt::bench::bench_dispatch(suite);
  for (krt::bench::Case c : suite.cases()) {
    const bool resolved = c.name == "dispatch.four_scalars/resolved_once";
    PeerCall* call = symbol(library, resolved ? "krt_peer_resolved" : "krt_peer_by_name");
    c.peer = path;
    c.peer_run = [call] { krt::bench::keep(call(kCalls)); };
    std::cout << to_json(krt::bench::run(c)) << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) compare(argv[i]);
}
