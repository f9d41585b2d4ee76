#pragma once
// StopScanner: streamed text up to the first stop string, of which nothing is ever let through.

#include <string>
#include <string_view>
#include <vector>

namespace krt::engine {

class StopScanner {
 public:
  // Empty strings stop nothing.
  explicit StopScanner(std::vector<std::string> stops = {});

  // Takes the next piece; answers what may be shown now. What could still become a stop string is held back.
  std::string add(std::string_view piece);
  // What was held back, at the end of a text that did not stop.
  std::string finish();
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  [[nodiscard]] std::size_t first_stop() const;
  [[nodiscard]] std::size_t held_back() const;

  std::vector<std::string> stops_;
  std::string pending_;
  bool stopped_ = false;
};

}  // namespace krt::engine
