#pragma once
// Benchmarks that check before they time. A kernel folder's *_bench.cc adds cases to the suite:
//
//   void bench_gemv_fast(bench::Suite& suite);      // namespace krt::<family>, listed by CMake like register_*
//
// `krt bench [NAME]` runs them: the case's check first, then it and its peer in interleaved rounds, and reports the
// medians, their ratio and, where the work is known, the share of the machine's ceiling measured in the same run.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace krt::bench {

enum class Ceiling {
  kNone,
  kReadBandwidth,  // bytes/s that `threads` threads read from memory
  kFp32,           // flop/s of fused multiply-adds in f32
};

struct Case {
  std::string name;  // "llmk.gemv_fast/1024x3072/threads=2"
  // What one run() moves or computes: flops under Ceiling::kFp32, else bytes. 0: the time itself is the figure (ns).
  double work = 0;
  // How many calls one run() makes, where the figure is ns a call: std::function alone takes 2 ns.
  double calls = 1;
  Ceiling ceiling = Ceiling::kNone;
  int threads = 1;  // that run() uses, for the ceiling
  // Empty text: the values are right; else what is wrong, and the case is not timed. A case without one fails.
  std::function<std::string()> check;
  std::function<void()> run;            // one call
  std::string peer = {};                // "torch", "tvm-ffi", "direct call"; empty: no peer
  std::function<void()> peer_run = {};  // the same work by the peer
};

// A T of these arguments that the first call makes, so that the cases nobody runs cost nothing: made_late<Bench>(n)().
template <class T, class... Args>
auto made_late(Args... args) {
  return [made = std::make_shared<std::optional<T>>(), args...]() -> T& {
    if (!made->has_value()) made->emplace(args...);
    return **made;
  };
}

class Suite {
 public:
  void add(Case c) { cases_.push_back(std::move(c)); }
  [[nodiscard]] const std::vector<Case>& cases() const { return cases_; }

 private:
  std::vector<Case> cases_;
};

// One line of the report. `value` is ns a call, or GB/s or GFLOP/s where the case states its work.
struct Row {
  std::string name, unit, peer;
  double value = 0, peer_value = 0;
  double ratio = 0;          // peer's time / ours: above 1 is faster than the peer; 0 where there is no peer
  double ceiling_share = 0;  // 0 to 1; 0 where there is no ceiling
  std::string failure = {};  // the check's text; nothing was timed then
};
Row run(const Case& c);
// {"name", "value", "unit", "peer", "peer_value", "ratio", "ceiling_share"} on one line, null where there is none;
// "failure" too where the check failed.
std::string to_json(const Row& row);

// Measured once per process.
double read_bandwidth(int threads);  // bytes/s
double fp32_rate(int threads);       // flop/s

// Keeps the compiler from dropping a result.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace krt::bench
