#include "client/cli/text.h"

#include <algorithm>

#include "runtime/codec/json.h"

namespace krt::cli {
namespace {

constexpr std::int64_t kShown = 8;  // values of a list; 8 of 17 digits still fit two lines of a terminal

std::string cut(std::string shown, std::int64_t count) {
  shown.pop_back();
  return shown + ", ... " + std::to_string(count) + " values]";
}

}  // namespace

std::string preview(const Value& value) {
  if (const auto* t = value.get_if<Tensor>(); t != nullptr && t->elements() > kShown)
    return cut(to_json(Value(Tensor::borrow(t->dtype(), Shape{kShown}, t->data()))), t->elements());
  if (const auto* list = value.get_if<List>(); list != nullptr && std::ssize(*list) > kShown)
    return cut(to_json(Value(List(list->begin(), list->begin() + kShown))), std::ssize(*list));
  return to_json(value);
}

std::string columns(const std::vector<std::vector<std::string>>& rows, std::size_t indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string plain(const Value& value) {
  const auto* text = value.get_if<std::string>();
  return text != nullptr ? *text : to_json(value);
}

}  // namespace krt::cli
