#include <tvm/ffi/function.h>

#include "tests/peers/dispatch/peer.h"

namespace {

namespace ffi = tvm::ffi;

[[gnu::noinline]] double scale_add(double x, double scale, double y, double bias) { return x * scale + y + bias; }

std::string name(int i) { return "bench.scalar" + std::to_string(i % 20) + ".scale_add_" + std::to_string(i); }

const std::string& registered() {
  static const std::string wanted = [] {
    for (int i = 0; i < 400; ++i) ffi::Function::SetGlobal(name(i), ffi::Function::FromTyped(scale_add));
    return name(207);
  }();
  return wanted;
}

}  // namespace

double krt_peer_resolved(int calls) {
  static const ffi::Function function = ffi::Function::GetGlobalRequired(registered());
  double last = 0;
  for (int i = 0; i < calls; ++i) last = function(2.0, 3.0, 4.0, 0.5).cast<double>();
  return last;
}

double krt_peer_by_name(int calls) {
  const std::string& wanted = registered();
  double last = 0;
  for (int i = 0; i < calls; ++i) last = ffi::Function::GetGlobalRequired(wanted)(2.0, 3.0, 4.0, 0.5).cast<double>();
  return last;
}
