#pragma once
// Calls for fuzzers: a function of the registry, and its documented example changed in a few places. Most of them pass
// the checks of the binding and reach the kernel, which arbitrary text hardly ever does.

#include <cstdint>
#include <string_view>

#include "runtime/runtime.h"

namespace krt::fuzz {

// The bytes of an input as a sequence of decisions; zeros once they are used up.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  [[nodiscard]] bool empty() const { return at_ == end_; }
  std::uint8_t byte() { return empty() ? 0 : *at_++; }
  // In [0, count), of the first 65536; 0 where there is no choice.
  std::size_t below(std::size_t count) {
    if (count < 2) return 0;
    std::size_t low = byte();
    if (count > 256) low += std::size_t{256} * byte();
    return low % count;
  }
  std::uint64_t word() {
    std::uint64_t w = 0;
    for (int i = 0; i < 8; ++i) w = w << 8U | byte();
    return w;
  }
  // What is left, to its end.
  std::string_view rest() {
    const std::string_view all(reinterpret_cast<const char*>(at_), static_cast<std::size_t>(end_ - at_));
    at_ = end_;
    return all;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* const end_;
};

// The kernels, one thread, 16 handles. The same object for the life of the process.
Runtime& builtin_runtime();
// In the order of their names; a kernel that is added moves the choice of a corpus, not its arguments.
const FunctionInfo& choose_function(Choices& choices);

// Changes `value` somewhere: a number, an element, a length, a dtype, a kind, or a handle in place of what it names.
void change(Value& value, Choices& choices);
// The arguments of the function's example after as many changes as `choices` has bytes for, three at most.
Value changed_example(const FunctionInfo& info, Choices& choices);

// Ends the process with the sentence.
void require(bool condition, std::string_view sentence);
// Every handle of builtin_runtime().
void free_handles();

}  // namespace krt::fuzz
