#pragma once
#include <optional>
#include <string_view>
#include <vector>

namespace krt::worker {

// The bytes that RFC 4648 base64 stands for, as numbers 0 to 255; none where the text is no base64 (padding is
// required, nothing may stand beside the alphabet).
std::optional<std::vector<double>> base64_numbers(std::string_view text);

}  // namespace krt::worker
