#pragma once
// A JSON number, read from text to the value that std::from_chars gives, bit for bit, in half its time.

#include <cstdint>

namespace krt::detail {

struct JsonNumber {
  bool integer = false;  // written without a point and an exponent
  bool fits = false;     // in an int64 or, where it is no integer, rounded in a finite double
  std::int64_t whole = 0;
  double value = 0;  // 0 where it is closer to 0 than any double
};

// The number at the front of [first, last). Where it ends; `first` where there is none.
const char* read_json_number(const char* first, const char* last, JsonNumber& out);

}  // namespace krt::detail
