#pragma once
// Values as a person reads them.

#include <string>
#include <vector>

#include "runtime/core/value.h"

namespace krt::cli {

// JSON, but for a long list, which is cut: "[1.0, 2.0, ... 151936 values]".
std::string preview(const Value& value);

// Rows of cells as columns two spaces apart, every line `indent` spaces in.
std::string columns(const std::vector<std::vector<std::string>>& rows, std::size_t indent = 0);

// The text of a string, the JSON of anything else.
std::string plain(const Value& value);

}  // namespace krt::cli
