#pragma once
// The benchmarks that come with krt: the *_bench.cc files of the tree, built with KRT_BENCHMARKS=ON (krt_benches).

#include "runtime/bench/bench.h"

namespace krt {

void register_benches(bench::Suite& suite);

}  // namespace krt
