#include "runtime/codec/json_lift.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "runtime/codec/json.h"

namespace krt::detail {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

struct BareToken {
  std::string_view spelling;
  double value;
};
constexpr BareToken kBareTokens[] = {
    {"NaN", std::numeric_limits<double>::quiet_NaN()},
    {"Infinity", std::numeric_limits<double>::infinity()},
    {"-Infinity", -std::numeric_limits<double>::infinity()},
};

// The bare token at the front of `text`, or null.
const BareToken* bare_token(std::string_view text) {
  for (const BareToken& token : kBareTokens)
    if (text.starts_with(token.spelling)) return &token;
  return nullptr;
}

// Where the whole part of the JSON number at `start` ends ("-12" of "-12.5e3"); `start` itself where there is none.
const char* end_of_whole_part(const char* const start, const char* const end) {
  const char* p = start;
  if (p != end && *p == '-') ++p;
  if (p != end && *p == '0') return p + 1;
  const char* const first = p;
  while (p != end && is_digit(*p)) ++p;
  return p != first ? p : start;
}

// Of a number that is neither 0 nor in the range of a double: is it too large (else it is too small)?
bool is_too_large(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, e);
  std::int32_t exponent = 0;
  if (e != number.size()) {
    const char* const first = number.data() + e + (number[e + 1] == '+' ? 2 : 1);
    const auto parsed = std::from_chars(first, number.data() + number.size(), exponent);
    if (parsed.ec != std::errc()) return number[e + 1] != '-';
  }
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first_significant = static_cast<std::int64_t>(digits.find_first_of("123456789"));
  return exponent + point - first_significant > 0;
}

// The numbers of one flat array: integers as long as nothing else was seen.
class Numbers {
 public:
  void add(double x) {
    if (all_integers_) {
      doubles_.assign(integers_.begin(), integers_.end());
      all_integers_ = false;
    }
    doubles_.push_back(x);
  }
  // False: no int64 holds it.
  bool add_integer(std::string_view token) {
    std::int64_t i = 0;
    if (std::from_chars(token.data(), token.data() + token.size(), i).ec != std::errc()) return false;
    all_integers_ ? integers_.push_back(i) : doubles_.push_back(static_cast<double>(i));
    return true;
  }
  // Of the number at `start`: where it ends, or null where no double holds it.
  const char* add_double(const char* const start, const char* const end) {
    double d = 0;
    const auto [p, error] = std::from_chars(start, end, d);
    if (error != std::errc()) {
      if (is_too_large({start, p})) return nullptr;
      d = *start == '-' ? -0.0 : 0.0;
    }
    add(d);
    return p;
  }
  Value take() { return all_integers_ ? Value(std::move(integers_)) : Value(std::move(doubles_)); }

 private:
  std::vector<std::int64_t> integers_;
  std::vector<double> doubles_;
  bool all_integers_ = true;
};

class Lifter {
 public:
  Lifter(std::string_view text, Keep keep) : text_(text), keep_(keep) {}

  Status run() {
    if (const std::size_t nul = text_.find('\0'); nul != text_.npos) return malformed_json(nul, "a NUL byte");
    while (at_ < text_.size())
      if (Status bad = step(); !bad.ok()) return bad;
    copy_up_to(at_);
    return {};
  }
  LiftedJson take() { return std::move(out_); }

 private:
  Status step() {
    switch (text_[at_]) {
      case '"': skip_string(); return {};
      case '[':
      case '{': return open();
      case ']':
      case '}': depth_ = std::max(0, depth_ - 1); break;
      case 'N':
      case 'I':
      case '-':
        if (const BareToken* token = bare_token(text_.substr(at_))) {
          return lift(token->value, at_ + token->spelling.size());
        }
        break;
      default: break;
    }
    ++at_;
    return {};
  }

  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    at_ = std::min(at_ + 1, text_.size());
  }

  Status open() {
    if (depth_ == kMaxJsonDepth)
      return malformed_json(at_, "nested more than " + std::to_string(kMaxJsonDepth) + " deep");
    if (text_[at_] == '[') {
      if (!kept()) {
        bool lifted = false;
        if (Status bad = lift_array(lifted); !bad.ok() || lifted) return bad;
      }
      ++ordinal_;
    }
    ++depth_;
    ++at_;
    return {};
  }

  // Whether the array at at_ is one of those that stay.
  [[nodiscard]] bool kept() const {
    if (keep_ != Keep::kArgs) return keep_ == Keep::kOutermost && depth_ == 0;
    std::string_view before = text_.substr(0, at_);
    const auto skip_space = [&before] {
      while (!before.empty() && is_space(before.back())) before.remove_suffix(1);
    };
    skip_space();
    if (!before.ends_with(':')) return false;
    before.remove_suffix(1);
    skip_space();
    return before.ends_with("\"args\"");
  }

  // Lifts the array at at_ where it is a flat one of at least one number.
  Status lift_array(bool& lifted) {
    Numbers numbers;
    const char* const end = text_.data() + text_.size();
    const char* p = text_.data() + at_ + 1;
    const auto skip_space = [&] {
      while (p != end && is_space(*p)) ++p;
    };
    for (;; ++p) {
      skip_space();
      const char* const first = p;
      const char* const whole = end_of_whole_part(first, end);
      const bool integer = whole == end || (*whole != '.' && *whole != 'e' && *whole != 'E');
      if (whole == first) {
        const BareToken* token = bare_token({first, end});
        if (token == nullptr) return {};
        numbers.add(token->value);
        p += token->spelling.size();
      } else if (integer) {
        p = numbers.add_integer({first, whole}) ? whole : nullptr;
      } else {
        // from_chars takes "1." too; whatever else is no JSON ends before the next comma.
        if (*whole == '.' && (whole + 1 == end || !is_digit(whole[1]))) return {};
        p = numbers.add_double(first, end);
      }
      if (p == nullptr) return too_large(first, integer);
      skip_space();
      if (p == end || (*p != ',' && *p != ']')) return {};
      if (*p == ']') break;
    }
    lifted = true;
    return lift(numbers.take(), static_cast<std::size_t>(p + 1 - text_.data()));
  }

  Status too_large(const char* token, bool integer) const {
    return malformed_json(static_cast<std::size_t>(token - text_.data()),
                          integer ? "an integer that does not fit 64 bits" : "a number that no double holds");
  }

  Status lift(Value value, std::size_t end) {
    if (out_.values.size() == kMaxJsonValues) return too_many_json_values(at_);
    copy_up_to(at_);
    out_.values.push_back({ordinal_++, std::move(value)});
    out_.text += "[]";
    at_ = copied_ = end;
    out_.anchors.push_back({out_.text.size(), end});
    return {};
  }

  void copy_up_to(std::size_t end) {
    out_.text += text_.substr(copied_, end - copied_);
    copied_ = end;
  }

  const std::string_view text_;
  const Keep keep_;
  LiftedJson out_;
  std::size_t at_ = 0, copied_ = 0, ordinal_ = 0;
  int depth_ = 0;
};

}  // namespace

Status malformed_json(std::size_t offset, std::string_view what) {
  return invalid("malformed JSON at byte " + std::to_string(offset) + ": " + std::string(what));
}

Status too_many_json_values(std::size_t offset) {
  return malformed_json(
      offset, "more than " + std::to_string(kMaxJsonValues) + " values; a flat array of numbers counts as one");
}

std::size_t LiftedJson::original_offset(std::size_t reduced) const {
  const auto after = std::upper_bound(anchors.begin(), anchors.end(), reduced,
                                      [](std::size_t at, const Anchor& a) { return at < a.reduced; });
  if (after == anchors.begin()) return reduced;
  const Anchor& before = *std::prev(after);
  return before.original + (reduced - before.reduced);
}

Result<LiftedJson> lift_json(std::string_view text, Keep keep) {
  Lifter lifter(text, keep);
  if (Status bad = lifter.run(); !bad.ok()) return bad;
  return lifter.take();
}

}  // namespace krt::detail
