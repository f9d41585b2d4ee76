#include "engine/model/stop_scanner.h"

#include <algorithm>
#include <utility>

namespace krt::engine {

StopScanner::StopScanner(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::size_t StopScanner::first_stop() const {
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, pending_.find(stop));
  return first;
}

// Bytes at the end that are the beginning of a stop string.
std::size_t StopScanner::held_back() const {
  std::size_t longest = 0;
  for (const std::string& stop : stops_)
    for (std::size_t n = std::min(stop.size() - 1, pending_.size()); n > longest; --n)
      if (std::string_view(pending_).ends_with(std::string_view(stop).substr(0, n))) longest = n;
  return longest;
}

std::string StopScanner::add(std::string_view piece) {
  if (stopped_) return {};
  pending_ += piece;
  const std::size_t stop = first_stop();
  stopped_ = stop != std::string::npos;
  const std::size_t shown = stopped_ ? stop : pending_.size() - held_back();
  std::string out = pending_.substr(0, shown);
  pending_.erase(0, shown);
  return out;
}

std::string StopScanner::finish() {
  if (stopped_) return {};
  return std::exchange(pending_, {});
}

}  // namespace krt::engine
