#include <nlohmann/json.hpp>
#include <set>

#include "runtime/codec/json.h"
#include "runtime/codec/json_lift.h"

namespace krt {
namespace {

using detail::LiftedJson;
using detail::malformed_json;
using detail::too_many_json_values;

// Reads the reduced text and lets the handler see how far nlohmann has got: its events carry no position.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** reached_;
};

// nlohmann's sentence without its prefix, line numbers and quotation of the text (which need not be UTF-8):
// "invalid literal", "unexpected '}'; expected string literal", "missing or wrong low surrogate".
std::string reason_in(std::string_view what) {
  const std::size_t dash = what.find(" - ");
  if (dash != what.npos) what.remove_prefix(dash + 3);
  return std::string(what.substr(0, what.find("; last read")));
}

// Builds the Value from nlohmann's events. False stops the parser; the reason is in failure().
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(LiftedJson& lifted, std::size_t original_size)
      : lifted_(lifted), original_size_(original_size), reached_(lifted.text.data()) {}

  [[nodiscard]] Result<Value> run() {
    // A number is known to have ended by the byte behind it: there is always one.
    lifted_.text += ' ';
    reached_ = lifted_.text.data();
    const Cursor first(reached_, &reached_), last(reached_ + lifted_.text.size(), nullptr);
    if (!nlohmann::json::sax_parse(first, last, this)) return std::move(failure_);
    return std::move(root_);
  }

  bool null() override { return emit({}); }
  bool boolean(bool v) override { return emit(v); }
  bool number_integer(number_integer_t v) override { return emit(std::int64_t{v}); }
  bool number_unsigned(number_unsigned_t v) override {
    if (v > static_cast<std::uint64_t>(INT64_MAX)) return integer_too_large(std::to_string(v).size());
    return emit(static_cast<std::int64_t>(v));
  }
  bool number_float(number_float_t v, const string_t& token) override {
    if (token.find_first_not_of("-0123456789") == token.npos) return integer_too_large(token.size());
    return emit(v);
  }
  bool string(string_t& v) override { return emit(std::move(v)); }
  bool binary(binary_t&) override { return false; }  // JSON has none

  bool start_array(std::size_t) override {
    if (!count()) return false;
    const std::size_t ordinal = arrays_++;
    if (next_lifted_ < lifted_.values.size() && lifted_.values[next_lifted_].ordinal == ordinal)
      open_.push_back({std::move(lifted_.values[next_lifted_++].value), {}});
    else
      open_.push_back({List(), {}});
    return true;
  }
  bool end_array() override { return close(); }

  bool start_object(std::size_t) override {
    if (!count()) return false;
    open_.push_back({Dict(), {}});
    return true;
  }
  bool key(string_t& name) override {
    Open& top = open_.back();
    if (!top.keys.insert(name).second) return fail(start_of_string(), "the key " + krt::quoted(name) + " is repeated");
    top.value.get_if<Dict>()->emplace_back(std::move(name), nullptr);
    return true;
  }
  bool end_object() override {
    const Dict& dict = *open_.back().value.get_if<Dict>();
    if (dict.size() != 1 || dict[0].first != "$handle") return close();
    const auto* text = dict[0].second.get_if<std::string>();
    Result<Handle> handle = text != nullptr ? parse_handle(*text) : invalid("'$handle' must be a string");
    if (!handle.ok()) return fail(read() - 1, handle.status().message());
    open_.back().value = *handle;
    return close();
  }

  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& e) override {
    constexpr int kNumberOverflow = 406;
    if (e.id == kNumberOverflow) return fail(position - token.size(), "a number that no double holds");
    return fail(position - 1, reason_in(e.what()));
  }

 private:
  struct Open {
    Value value;
    std::set<std::string, std::less<>> keys;
  };

  bool count() { return ++values_ <= kMaxJsonValues || fail(too_many_json_values(original(read() - 1))); }
  bool emit(Value v) { return count() && place(std::move(v)); }
  bool place(Value v) {
    if (open_.empty())
      root_ = std::move(v);
    else if (auto* list = open_.back().value.get_if<List>())
      list->push_back(std::move(v));
    else
      open_.back().value.get_if<Dict>()->back().second = std::move(v);
    return true;
  }
  bool close() {
    Value done = std::move(open_.back().value);
    open_.pop_back();
    return place(std::move(done));
  }

  [[nodiscard]] std::size_t read() const { return static_cast<std::size_t>(reached_ - lifted_.text.data()); }
  // Of the string whose closing quote was read last: no quote stands in a string without a backslash.
  [[nodiscard]] std::size_t start_of_string() const {
    std::size_t at = lifted_.text.rfind('"', read() - 2);
    while (lifted_.text[at - 1] == '\\') at = lifted_.text.rfind('"', at - 1);
    return at;
  }
  bool integer_too_large(std::size_t length) {
    return fail(read() - 1 - length, "an integer that does not fit 64 bits");
  }
  // Where byte `reduced` of the reduced text stands in the original.
  [[nodiscard]] std::size_t original(std::size_t reduced) const {
    return std::min(lifted_.original_offset(reduced), original_size_);
  }
  bool fail(std::size_t reduced, const std::string& what) { return fail(malformed_json(original(reduced), what)); }
  bool fail(Status failure) { return failure_ = std::move(failure), false; }

  LiftedJson& lifted_;
  const std::size_t original_size_;
  const char* reached_;
  std::size_t values_ = 0, arrays_ = 0, next_lifted_ = 0;
  std::vector<Open> open_;
  Value root_;
  Status failure_;
};

Result<Value> parse(std::string_view text, detail::Keep keep) {
  Result<LiftedJson> lifted = detail::lift_json(text, keep);
  if (!lifted.ok()) return lifted.status();
  return Builder(*lifted, text.size()).run();
}

}  // namespace

Result<Value> parse_json(std::string_view text) { return parse(text, detail::Keep::kNone); }

Result<Value> parse_json_args(std::string_view text) {
  if (text.empty()) return Value();
  return parse(text, detail::Keep::kOutermost);
}

Result<Value> parse_json_message(std::string_view text) { return parse(text, detail::Keep::kArgs); }

}  // namespace krt
