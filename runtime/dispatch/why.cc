#include "runtime/dispatch/why.h"

#include <algorithm>
#include <charconv>

namespace krt {
namespace {

// How many numbers "rows x d" names.
std::size_t rank_of(std::string_view names) {
  if (names.empty()) return 0;
  std::size_t rank = 1;
  for (auto at = names.find(" x "); at != std::string_view::npos; at = names.find(" x ", at + 3)) ++rank;
  return rank;
}

Status check_shape(const FunctionInfo& info, std::span<const std::int64_t> shape) {
  if (shape.empty()) return {};
  const std::size_t rank = rank_of(info.variant_shape);
  if (rank == 0) return invalid(info.full_name() + ": the choice of a variant does not depend on a shape");
  if (rank != shape.size())
    return invalid(info.full_name() + ": the shape is " + info.variant_shape + ", got " + std::to_string(shape.size()) +
                   (shape.size() == 1 ? " number" : " numbers"));
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 0; }))
    return invalid(info.full_name() + ": a dimension is negative");
  return {};
}

}  // namespace

Result<Why> why(const FunctionInfo& info, std::span<const std::int64_t> shape) {
  if (Status bad = check_shape(info, shape); !bad.ok()) return bad;
  if (info.variants.empty()) return Why{{{"reference", {}}}, "reference"};
  Why out;
  for (const VariantInfo& v : info.variants) {
    std::string_view refused = v.refusal(shape);
    if (refused.empty() && !out.served_by.empty()) refused = "order";
    if (refused.empty()) out.served_by = v.name;
    out.rows.push_back({v.name, refused});
  }
  return out;
}

Result<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  std::vector<std::int64_t> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::int64_t n = 0;
    const auto [stop, error] = std::from_chars(at, end, n);
    if (error != std::errc() || n < 0 || *at == '-') break;
    out.push_back(n);
    if (stop == end) return out;
    if (*stop != 'x') break;
    at = stop + 1;
  }
  return invalid("a shape is whole numbers joined by x, such as 1x4096, got " + quoted(text));
}

Status survivor(const FunctionInfo& info, const Why& why) {
  if (!why.served_by.empty()) return {};
  std::string text = info.full_name() + ": no variant serves the call:";
  for (const WhyRow& row : why.rows) text += " " + std::string(row.variant) + " (" + std::string(row.refused_by) + ")";
  return {Reason::kNoVariant, text};
}

}  // namespace krt
