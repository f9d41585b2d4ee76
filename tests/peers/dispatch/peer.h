#pragma once
// What a peer's shared object exports: the call of dispatch.four_scalars (runtime/registry/dispatch_bench.cc) made
// `calls` times through the peer's own registry of 400 names; each answers the value of the last call. A shared object
// each, loaded at run time, so that no peer's C++ ABI meets ours or another's.

extern "C" {
double krt_peer_resolved(int calls);  // the function was looked up once
double krt_peer_by_name(int calls);   // it is looked up for every call
}
