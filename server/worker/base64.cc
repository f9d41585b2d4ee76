#include "server/worker/base64.h"

#include <cstdint>

namespace krt::worker {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::optional<std::vector<double>> base64_numbers(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  std::vector<double> out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;  // bits that wait
  for (const char c : text) {
    const std::size_t six = kAlphabet.find(c);
    if (six == kAlphabet.npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(six);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(bits >> static_cast<unsigned>(count) & 0xFFU);
  }
  if ((bits & ((1U << static_cast<unsigned>(count)) - 1U)) != 0) return std::nullopt;  // two spellings of one value
  return out;
}

}  // namespace krt::worker
