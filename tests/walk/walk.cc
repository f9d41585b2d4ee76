#include "tests/walk/walk.h"

#include <algorithm>
#include <limits>
#include <set>

#include "runtime/codec/json.h"

namespace krt::walk {
namespace {

constexpr std::int64_t kCounts[] = {0,
                                    1,
                                    -1,
                                    (1 << 24) + 1,
                                    std::int64_t{1} << 31U,
                                    std::int64_t{1} << 32U,
                                    std::int64_t{1} << 62U,
                                    std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max()};
constexpr double kNumbers[] = {0.0,
                               -0.0,
                               -1.0,
                               1e308,
                               -1e308,
                               5e-324,
                               std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()};

// "f64[n]" of "f64[n]&?".
std::string_view bare_type(std::string_view type) {
  while (type.ends_with('?') || type.ends_with('&')) type.remove_suffix(1);
  return type;
}
// "f64" of "f64[n]"; empty where the type is no list.
std::string_view element_type(std::string_view type) {
  type = bare_type(type);
  return type.ends_with("[n]") ? type.substr(0, type.size() - 3) : std::string_view();
}
bool is_integer_list(std::string_view type) {
  const std::string_view element = element_type(type);
  return element.starts_with('i') || element.starts_with('u');
}

bool matches(const Value& value, std::string_view type) {
  if (type == "any") return true;
  if (const std::string_view element = element_type(type); !element.empty()) {
    const auto* tensor = value.get_if<Tensor>();
    return tensor != nullptr && info_of(tensor->dtype()).name == element;
  }
  if (type == "tensor") return value.kind() == Kind::kTensor;
  return type_text(value) == type;
}

// What a parameter of this type must refuse.
std::vector<Value> wrong_values(const Param& param) {
  const std::string_view type = bare_type(param.type);
  if (type == "any") return {};
  std::vector<Value> wrong{Dict{{"a", 1}}, List{Value(List{1})}};
  if (!param.type.ends_with('?')) wrong.emplace_back();
  const auto add = [&](std::initializer_list<Value> more) { wrong.insert(wrong.end(), more); };
  if (type != "string") add({"text", ""});
  if (type != "bool") add({true});
  if (type != "int" && type != "float") add({7, 7.5});
  if (type == "int") add({3.0, 3.5, "3", "NaN"});
  if (type == "bool") add({0, 1, 1.0, "true"});
  if (param.is_list)
    add({List{true}, List{"text"}, List{Value()}, List{1, List{2}}});
  else
    add({List{}, std::vector<double>{1}, List{1, 2}});
  if (is_integer_list(type)) add({List{1.5}, std::vector<double>{1.0}});
  return wrong;
}

// Some other values of the right type.
std::vector<Value> extremes(const Param& param, const Value& example) {
  std::vector<Value> out;
  if (bare_type(param.type) == "int")
    for (const std::int64_t n : kCounts) out.emplace_back(n);
  if (bare_type(param.type) == "float")
    for (const double x : kNumbers) out.emplace_back(x);
  if (!param.is_list) return out;

  // In JSON a list is a tensor of doubles or of int64, or a list.
  List values;
  if (const auto* list = example.get_if<List>()) values = *list;
  if (const auto* tensor = example.get_if<Tensor>()) {
    for (const double x : tensor->as<double>()) values.emplace_back(x);
    for (const std::int64_t x : tensor->as<std::int64_t>()) values.emplace_back(x);
  }
  out.emplace_back(List{});
  if (values.empty()) return out;
  out.emplace_back(List(values.begin(), values.end() - 1));
  List longer = values;
  longer.push_back(values.back());
  out.emplace_back(longer);
  longer.insert(longer.end(), values.begin(), values.end());
  out.emplace_back(std::move(longer));
  const auto with = [&](const Value& x) {
    List first = values;
    first.front() = x;
    out.emplace_back(std::move(first));
    out.emplace_back(List(values.size(), x));
  };
  if (is_integer_list(param.type))
    for (const std::int64_t n : kCounts) with(n);
  else
    for (const double x : kNumbers) with(x);
  return out;
}

// A value of the right type for a function that no example can call everywhere (it reads a file).
Value placeholder(const Param& param) {
  const std::string_view type = bare_type(param.type);
  if (param.fallback) return *param.fallback;
  if (type == "int") return 1;
  if (type == "float") return 1.0;
  if (type == "bool") return false;
  if (type == "string") return "";
  if (type == "handle") return Handle{1, 1};
  return param.is_list ? Value(List{1}) : Value();
}

class Walker {
 public:
  Walker(const FunctionInfo& info, const Runtimes& runtimes) : info_(info), runtimes_(runtimes) {}

  std::vector<std::string> run() {
    check_documentation();
    if (check_example()) {
      check_counts_and_names();
      check_types();
      check_extremes();
    }
    return std::move(problems_);
  }

 private:
  void problem(const std::string& text) { problems_.push_back(info_.full_name() + ": " + text); }

  static ExecuteResult call(Runtime& runtime, const FunctionInfo& info, const Value& args) {
    CallOptions options;
    options.arguments_by_value = true;  // what comes from text is a copy
    return runtime.execute(info.module, info.name, args, options);
  }
  ExecuteResult call(const Value& args) { return call(runtimes_.first(), info_, args); }

  void check_documentation() {
    if (info_.summary.empty()) problem("has no summary");
    for (const Param& p : info_.params)
      if (p.name.empty() || p.doc.empty()) problem("parameter " + quoted(p.name) + " has no doc");
    std::set<std::int64_t> codes;
    std::set<std::string_view> names;
    for (const StatusEntry& s : info_.statuses)
      if (s.name.empty() || s.meaning.empty() || !codes.insert(s.code).second || !names.insert(s.name).second)
        problem("status " + std::to_string(s.code) + " has no name of its own or no meaning");
  }

  // The example's arguments go to example_, one per parameter.
  bool check_example() {
    if (info_.example.empty()) {
      for (const Param& p : info_.params) example_.push_back(placeholder(p));
      return true;
    }
    const Result<Value> parsed = parse_json_args(info_.example);
    if (!parsed.ok()) return problem("example " + info_.example + ": " + parsed.status().message()), false;
    const ExecuteResult first = call(*parsed);
    if (!first.success()) return problem("example " + info_.example + ": " + first.error.message()), false;
    if (info_.status_field >= 0 && first.status != info_.statuses.front().code)
      problem("example answers " + first.status_name + ", not " + std::string(info_.statuses.front().name));
    check_result(first);
    for (const auto& runtime : runtimes_.all())
      expect_same(first, call(*runtime, info_, *parsed),
                  "with " + std::to_string(runtime->arena().threads()) + " threads");
    if (!take_arguments(*parsed)) return problem("example is neither positional nor by name"), false;
    expect_same(first, call(List(example_)), "by position");
    expect_same(first, call(by_name()), "by name");
    return true;
  }

  bool take_arguments(const Value& args) {
    example_.clear();
    for (const Param& p : info_.params) example_.push_back(p.fallback.value_or(Value()));
    if (const auto* dict = args.get_if<Dict>()) {
      for (std::size_t i = 0; i < example_.size(); ++i)
        if (const Value* given = args.find(info_.params[i].name)) example_[i] = *given;
      return dict->size() <= example_.size();
    }
    const auto* list = args.get_if<List>();
    if (list == nullptr || list->size() > example_.size()) return args.is_null();
    std::copy(list->begin(), list->end(), example_.begin());
    return true;
  }

  void check_result(const ExecuteResult& r) {
    if (info_.result_struct.empty()) {
      if (!matches(r.result, info_.fields.front().type))
        problem("answers " + type_text(r.result) + ", not " + info_.fields.front().type);
      return;
    }
    const auto* dict = r.result.get_if<Dict>();
    if (dict == nullptr || dict->size() != info_.fields.size()) return problem("does not answer its declared fields");
    for (std::size_t i = 0; i < dict->size(); ++i) {
      const auto& [name, value] = (*dict)[i];
      if (name != info_.fields[i].name || !matches(value, info_.fields[i].type))
        problem("field " + quoted(name) + " is " + type_text(value) + ", not " + info_.fields[i].name + ": " +
                info_.fields[i].type);
    }
  }

  void expect_same(const ExecuteResult& a, const ExecuteResult& b, const std::string& when) {
    if (!identical(a.result, b.result) || !identical(a.mutated, b.mutated) || a.status != b.status)
      problem("answers something else " + when + (b.success() ? "" : ": " + b.error.message()));
  }

  [[nodiscard]] Dict by_name() const {
    Dict dict;
    for (std::size_t i = 0; i < example_.size(); ++i) dict.emplace_back(info_.params[i].name, example_[i]);
    return dict;
  }

  void problem_of_sentence(const std::string& what, const std::string& expected, const std::string& sentence) {
    problem(what + ": the sentence does not name " + expected + ": " + sentence);
  }

  void expect_refused(const Value& args, const std::string& what, const std::string& named) {
    const ExecuteResult r = call(args);
    if (r.error.reason() != Reason::kInvalidArguments)
      return problem(what + " is not refused as invalid_arguments but answers " +
                     (r.success() ? type_text(r.result) : r.error.message()));
    for (const std::string& expected : {info_.full_name(), named})
      if (r.error.message().find(expected) == std::string::npos) problem_of_sentence(what, expected, r.error.message());
  }

  void check_counts_and_names() {
    // One list parameter takes any list of numbers, so that a list of two values that are no numbers is needed.
    List too_many = example_;
    too_many.resize(info_.params.size() + 1, Value(Dict{}));
    if (too_many.size() == 1) too_many.push_back(too_many.front());
    expect_refused(too_many, "one argument too many", "");
    Dict unknown = by_name();
    unknown.emplace_back("no_such_name", 1);
    expect_refused(unknown, "an unknown name", "'no_such_name'");
    for (std::size_t i = 0; i < example_.size(); ++i) {
      if (info_.params[i].fallback) continue;
      Dict without = by_name();
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      expect_refused(without, "a missing " + info_.params[i].name, "'" + info_.params[i].name + "'");
    }
  }

  void check_types() {
    for (std::size_t i = 0; i < example_.size(); ++i) {
      const Param& param = info_.params[i];
      for (const Value& wrong : wrong_values(param)) {
        Dict args = by_name();
        args[i].second = wrong;
        expect_refused(args, param.name + " = " + to_json(wrong), "'" + param.name + "'");
      }
    }
  }

  void check_extremes() {
    for (std::size_t i = 0; i < example_.size(); ++i)
      for (const Value& x : extremes(info_.params[i], example_[i])) {
        Dict args = by_name();
        args[i].second = x;
        expect_answer(args);
        if (bare_type(info_.params[i].type) == "int") check_pairs(args, i);
      }
  }
  // Two counts at once: their product is what overflows.
  void check_pairs(const Dict& args, std::size_t i) {
    for (std::size_t j = i + 1; j < example_.size(); ++j) {
      if (bare_type(info_.params[j].type) != "int") continue;
      for (const std::int64_t n : kCounts) {
        Dict both = args;
        both[j].second = n;
        expect_answer(both);
      }
    }
  }

  void expect_answer(const Dict& args) {
    const ExecuteResult r = call(args);
    const auto spelled = [&] { return to_json(Value(args)).substr(0, 300); };
    if (!r.success()) {
      if (r.error.reason() == Reason::kInternal) problem(spelled() + " fails: " + r.error.message());
      return;
    }
    check_result(r);
    if (info_.status_field < 0) return;
    const bool documented = std::any_of(info_.statuses.begin(), info_.statuses.end(),
                                        [&](const StatusEntry& s) { return s.code == r.status; });
    if (!documented) problem(spelled() + " answers status " + std::to_string(r.status) + ", which is not in its table");
    expect_same(r, call(args), "when called again with " + spelled());
  }

  const FunctionInfo& info_;
  const Runtimes& runtimes_;
  List example_;
  std::vector<std::string> problems_;
};

}  // namespace

Runtimes::Runtimes(Registry (*make)()) {
  for (const int threads : {1, 2, 16})
    runtimes_.push_back(std::make_unique<Runtime>(make(), RuntimeOptions{.threads = threads}));
}

std::vector<std::string> problems_of(const FunctionInfo& info, const Runtimes& runtimes) {
  return Walker(info, runtimes).run();
}

}  // namespace krt::walk
