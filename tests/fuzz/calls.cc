#include "tests/fuzz/calls.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iostream>
#include <limits>

#include "modules/builtin.h"
#include "runtime/codec/json.h"

namespace krt::fuzz {
namespace {

std::int64_t some_int(Choices& choices, std::int64_t near) {
  constexpr std::int64_t kEdges[] = {0,         -1,       1, 2, 255, 256, (1 << 24) + 1, std::int64_t{1} << 31U,
                                     INT64_MAX, INT64_MIN};
  switch (choices.below(4)) {
    case 0: return kEdges[choices.below(std::size(kEdges))];
    case 1: return static_cast<std::int64_t>(choices.word());
    case 2: return choices.byte();
    default: return static_cast<std::int64_t>(static_cast<std::uint64_t>(near) + choices.byte() - 128U);
  }
}

double some_float(Choices& choices) {
  using Limits = std::numeric_limits<double>;
  constexpr double kEdges[] = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               1e-6,
                               5e-324,
                               1e308,
                               -1e308,
                               Limits::quiet_NaN(),
                               Limits::infinity(),
                               -Limits::infinity()};
  return choices.byte() % 4 != 0 ? kEdges[choices.below(std::size(kEdges))] : std::bit_cast<double>(choices.word());
}

Value some_value(Choices& choices) {
  switch (choices.below(10)) {
    case 0: return {};
    case 1: return choices.byte() % 2 == 0;
    case 2: return some_int(choices, 0);
    case 3: return some_float(choices);
    case 4: return std::string(choices.below(4), 'a');
    case 5: return List(choices.below(4), Value(some_int(choices, 0)));
    case 6: return Dict{{"a", some_int(choices, 0)}};
    case 7: return Handle{choices.word(), choices.byte()};
    case 8: return std::vector<float>(choices.below(70), static_cast<float>(some_float(choices)));
    default: return std::vector<double>(choices.below(70), some_float(choices));
  }
}

// The elements of a tensor of doubles or of int64, as JSON gives them; none of another.
List elements_of(const Tensor& tensor) {
  List out;
  for (const double x : tensor.as<double>()) out.emplace_back(x);
  for (const std::int64_t x : tensor.as<std::int64_t>()) out.emplace_back(x);
  return out;
}

template <class T>
Value packed(const List& numbers) {
  std::vector<T> out;
  for (const Value& v : numbers) {
    const auto* d = v.get_if<double>();
    const auto* i = v.get_if<std::int64_t>();
    out.push_back(d != nullptr ? static_cast<T>(*d) : i != nullptr ? static_cast<T>(*i) : T{});
  }
  return out;
}

void change_list(List& list, Choices& choices) {
  const std::size_t at = choices.below(list.size());
  const auto here = list.begin() + static_cast<std::ptrdiff_t>(at);
  switch (list.empty() ? 1 : choices.below(8)) {
    case 0: list.erase(here); return;
    case 1: list.insert(here, some_value(choices)); return;
    case 2: list.insert(here, choices.byte(), Value(list[at])); return;
    default: change(list[at], choices); return;
  }
}

void change_tensor(Value& value, Choices& choices) {
  List list = elements_of(*value.get_if<Tensor>());
  switch (choices.below(8)) {
    case 0: value = packed<float>(list); return;
    case 1: value = packed<double>(list); return;
    case 2: value = std::move(list); return;
    default: break;
  }
  change_list(list, choices);
  // A list of numbers is a tensor again; one of anything else stays.
  const auto is = [&](Kind kind) {
    return std::ranges::all_of(list, [&](const Value& v) { return v.kind() == kind; });
  };
  if (is(Kind::kInt))
    value = packed<std::int64_t>(list);
  else if (is(Kind::kFloat))
    value = packed<double>(list);
  else
    value = std::move(list);
}

}  // namespace

Runtime& builtin_runtime() {
  static Runtime instance(builtin_registry(), {.threads = 1, .max_handles = 16});
  return instance;
}

const FunctionInfo& choose_function(Choices& choices) {
  static const std::vector<const FunctionInfo*> all = builtin_runtime().registry().all();
  return *all[choices.below(all.size())];
}

void change(Value& value, Choices& choices) {
  const std::size_t what = choices.below(16);
  if (what == 0) {
    value = some_value(choices);
    return;
  }
  if (what == 1) {
    if (const Result<Handle> handle = builtin_runtime().put(value); handle.ok()) value = *handle;
    return;
  }
  if (const auto* i = value.get_if<std::int64_t>())
    value = some_int(choices, *i);
  else if (value.get_if<double>() != nullptr)
    value = some_float(choices);
  else if (auto* list = value.get_if<List>())
    change_list(*list, choices);
  else if (auto* dict = value.get_if<Dict>(); dict != nullptr && !dict->empty())
    change((*dict)[choices.below(dict->size())].second, choices);
  else if (value.get_if<Tensor>() != nullptr)
    change_tensor(value, choices);
  else
    value = some_value(choices);
}

Value changed_example(const FunctionInfo& info, Choices& choices) {
  Result<Value> example = parse_json_args(info.example);  // one that reads files has no example
  Value args = example.ok() ? std::move(*example) : Value();
  // The arguments stay a list or a dict: changing that is the business of the binding's own fuzzing, by text.
  for (int changes = 0; changes < 3 && !choices.empty(); ++changes) {
    if (auto* list = args.get_if<List>(); list != nullptr && !list->empty())
      change((*list)[choices.below(list->size())], choices);
    else
      change(args, choices);
  }
  return args;
}

void require(bool condition, std::string_view sentence) {
  if (condition) return;
  std::cerr << sentence << '\n';
  std::abort();
}

void free_handles() {
  const Result<std::vector<HandleTable::Entry>> entries = builtin_runtime().list_handles();
  for (const HandleTable::Entry& e : *entries) static_cast<void>(builtin_runtime().free(e.handle));
}

}  // namespace krt::fuzz
