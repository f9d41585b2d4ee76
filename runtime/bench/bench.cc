#include "runtime/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>

#include "runtime/codec/json.h"

namespace krt::bench {
namespace {

constexpr double kRoundSeconds = 20e-3;  // long enough that a timer interrupt is lost in it
constexpr int kRounds = 9, kRoundsOfLongCases = 3;
constexpr double kLong = 0.5;  // seconds a round

double time_calls(const std::function<void()>& fn, std::size_t calls) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < calls; ++i) fn();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One of the things that are timed in turn.
struct Contender {
  const std::function<void()>& fn;
  std::size_t calls = 1;
  std::vector<double> seconds_a_call = {};

  // Warms up, and finds how many calls make a round.
  double calibrate() {
    fn();
    double round = time_calls(fn, calls);
    while (round < kRoundSeconds) {
      const double wanted = static_cast<double>(calls) * kRoundSeconds / std::max(round, 1e-9) * 1.2;
      calls = std::max(calls + 1, static_cast<std::size_t>(std::min(wanted, static_cast<double>(calls) * 10)));
      round = time_calls(fn, calls);
    }
    return round;
  }
  void round() { seconds_a_call.push_back(time_calls(fn, calls) / static_cast<double>(calls)); }
  double median() {
    const auto middle = seconds_a_call.begin() + std::ssize(seconds_a_call) / 2;
    std::nth_element(seconds_a_call.begin(), middle, seconds_a_call.end());
    return *middle;
  }
};

// Rounds of all in turn, each round beginning with another one, so that a change of clock speed or a busy
// neighbour meets all of them.
void interleave(std::vector<Contender>& contenders) {
  double longest = 0;
  for (Contender& c : contenders) longest = std::max(longest, c.calibrate());
  const int rounds = longest > kLong ? kRoundsOfLongCases : kRounds;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i)
      contenders[(i + static_cast<std::size_t>(round)) % contenders.size()].round();
}

std::string checked(const Case& c) {
  if (!c.check) return "the case has no check";
  try {
    return c.check();
  } catch (const std::exception& e) {
    return e.what();
  }
}

double ceiling_of(const Case& c) {
  switch (c.ceiling) {
    case Ceiling::kNone: return 0;
    case Ceiling::kReadBandwidth: return read_bandwidth(c.threads);
    case Ceiling::kFp32: return fp32_rate(c.threads);
  }
  return 0;
}

// As many digits as a measurement has.
double rounded(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double unit = std::pow(10.0, std::floor(std::log10(std::fabs(x))) - 3);
  return unit < 1 ? std::round(x / unit) / std::round(1 / unit) : std::round(x / unit) * unit;
}

}  // namespace

Row run(const Case& c) {
  Row row;
  row.name = c.name;
  row.unit = c.work == 0 ? "ns" : c.ceiling == Ceiling::kFp32 ? "GFLOP/s" : "GB/s";
  row.peer = c.peer;
  row.failure = checked(c);
  if (!row.failure.empty()) return row;

  std::vector<Contender> contenders{{c.run}};
  if (c.peer_run) contenders.push_back({c.peer_run});
  interleave(contenders);

  const auto figure = [&](double seconds) { return c.work == 0 ? seconds / c.calls * 1e9 : c.work / seconds * 1e-9; };
  const double ours = contenders[0].median();
  row.value = figure(ours);
  if (contenders.size() > 1) {
    const double peers = contenders[1].median();
    row.peer_value = figure(peers);
    row.ratio = peers / ours;
  }
  if (const double ceiling = ceiling_of(c); ceiling > 0) row.ceiling_share = c.work / ours / ceiling;
  return row;
}

std::string to_json(const Row& row) {
  const auto measured = [](double x) { return x == 0 ? Value() : Value(rounded(x)); };
  Dict line{{"name", row.name},
            {"value", measured(row.value)},
            {"unit", row.unit},
            {"peer", row.peer.empty() ? Value() : Value(row.peer)},
            {"peer_value", measured(row.peer_value)},
            {"ratio", measured(row.ratio)},
            {"ceiling_share", measured(row.ceiling_share)}};
  if (!row.failure.empty()) line.emplace_back("failure", row.failure);
  return krt::to_json(Value(std::move(line)));
}

}  // namespace krt::bench
