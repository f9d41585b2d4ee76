#include "runtime/testing/fixture.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "runtime/codec/json.h"

namespace krt::testing {

const Value& FixtureCase::at(std::string_view field) const {
  const Value* v = fields_.find(field);
  if (v == nullptr) fail(field, "is not there");
  return *v;
}

void FixtureCase::fail(std::string_view field, std::string_view what) const {
  throw std::runtime_error(file_ + ": field '" + std::string(field) + "' " + std::string(what));
}

std::int64_t FixtureCase::integer(std::string_view field) const {
  const auto* i = at(field).get_if<std::int64_t>();
  return i != nullptr ? *i : (fail(field, "is no integer"), 0);
}

double FixtureCase::number(std::string_view field) const {
  if (const auto* d = at(field).get_if<double>()) return *d;
  return static_cast<double>(integer(field));
}

bool FixtureCase::flag(std::string_view field) const {
  const auto* b = at(field).get_if<bool>();
  return b != nullptr ? *b : (fail(field, "is no bool"), false);
}

std::string FixtureCase::text(std::string_view field) const {
  const auto* s = at(field).get_if<std::string>();
  return s != nullptr ? *s : (fail(field, "is no text"), std::string());
}

std::vector<double> FixtureCase::f64s(std::string_view field) const {
  const Value& v = at(field);
  if (const auto* t = v.get_if<Tensor>(); t != nullptr && t->dtype() == DType::kF64) {
    const auto values = t->as<double>();
    return {values.begin(), values.end()};
  }
  const std::vector<std::int64_t> ints = i64s(field);  // [] and lists of whole numbers
  return {ints.begin(), ints.end()};
}

std::vector<float> FixtureCase::f32s(std::string_view field) const {
  std::vector<float> out;
  for (const double d : f64s(field)) {
    out.push_back(static_cast<float>(d));
    if (static_cast<double>(out.back()) != d && !std::isnan(d)) fail(field, "holds a value that is no f32");
  }
  return out;
}

std::vector<std::int64_t> FixtureCase::i64s(std::string_view field) const {
  const Value& v = at(field);
  if (const auto* t = v.get_if<Tensor>(); t != nullptr && t->dtype() == DType::kI64) {
    const auto values = t->as<std::int64_t>();
    return {values.begin(), values.end()};
  }
  const auto* list = v.get_if<List>();
  const auto* tensor = v.get_if<Tensor>();
  const bool empty = (list != nullptr && list->empty()) || (tensor != nullptr && tensor->elements() == 0);
  if (!empty) fail(field, "is no flat list of numbers of that kind");
  return {};
}

std::string fixture_bytes(std::string_view file) {
  std::ifstream in(std::string(KRT_FIXTURES) + "/" + std::string(file), std::ios::binary);
  if (!in) throw std::runtime_error(std::string(file) + ": cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<FixtureCase> fixture(std::string_view name) {
  const std::string file = std::string(name) + ".json";
  const Result<Value> parsed = parse_json(fixture_bytes(file));
  if (!parsed.ok()) throw std::runtime_error(file + ": " + parsed.status().message());
  const Value* cases = parsed.value().find("cases");
  const List* list = cases == nullptr ? nullptr : cases->get_if<List>();
  if (list == nullptr || list->empty()) throw std::runtime_error(file + ": no cases");
  std::vector<FixtureCase> out;
  for (const Value& fields : *list) out.emplace_back(file, fields);
  return out;
}

}  // namespace krt::testing
