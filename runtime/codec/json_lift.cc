#include "runtime/codec/json_lift.h"

#include <algorithm>
#include <limits>

#include "runtime/codec/json.h"
#include "runtime/codec/json_number.h"

namespace krt::detail {
namespace {

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
  void add(std::int64_t x) { all_integers_ ? integers_.push_back(x) : doubles_.push_back(static_cast<double>(x)); }
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
      JsonNumber number;
      if (const char* const behind = read_json_number(p, end, number); behind != p) {
        if (!number.fits) return too_large(p, number.integer);
        number.integer ? numbers.add(number.whole) : numbers.add(number.value);
        p = behind;
      } else if (const BareToken* token = bare_token({p, end})) {
        numbers.add(token->value);
        p += token->spelling.size();
      } else {
        return {};
      }
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
