#include "engine/tokenizer/pre_tokenizer.h"

#include <array>

namespace krt::engine {
namespace {

std::size_t run_of(CharClass kind, std::string_view text, std::size_t at) {
  for (Char c = char_at(text, at); c.kind == kind; c = char_at(text, at)) at += c.bytes;
  return at;
}

bool is_newline(Char c) { return c.code == '\r' || c.code == '\n'; }

// `'s|'t|'re|'ve|'m|'ll|'d`: the end of the contraction at `at`, or `at`.
template <class Letter>
std::size_t contraction(std::string_view text, std::size_t at, const Letter& letter) {
  if (text[at] != '\'') return at;
  const Char first = char_at(text, at + 1);
  if (first.kind != CharClass::kLetter) return at;
  const std::size_t one = at + 1 + first.bytes;
  const char32_t a = letter(first.code);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return one;
  const Char second = char_at(text, one);
  if (second.kind != CharClass::kLetter) return at;
  const char32_t b = letter(second.code);
  const bool both = (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l');
  return both ? one + second.bytes : at;
}

// `\s+(?!\S)|\s+`: the last space before something else is left to that.
std::size_t spaces(std::string_view text, std::size_t at) {
  std::size_t end = at, last = at;
  for (Char c = char_at(text, end); c.kind == CharClass::kSpace; c = char_at(text, end)) {
    last = end;
    end += c.bytes;
  }
  return end == text.size() || last == at ? end : last;
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t gpt2(std::string_view text, std::size_t at) {
  const std::size_t end = contraction(text, at, [](char32_t c) { return c; });
  if (end != at) return end;
  const std::size_t start = text[at] == ' ' ? at + 1 : at;
  const CharClass kind = char_at(text, start).kind;
  if (kind == CharClass::kSpace || kind == CharClass::kEnd) return spaces(text, at);
  return run_of(kind, text, start);
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,Digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+
// |\s+(?!\S)|\s+
template <int Digits>
std::size_t llama3(std::string_view text, std::size_t at) {
  const std::size_t short_form = contraction(text, at, folded);
  if (short_form != at) return short_form;

  const Char first = char_at(text, at);
  const std::size_t second = at + first.bytes;
  if (first.kind == CharClass::kLetter) return run_of(CharClass::kLetter, text, at);
  if (first.kind == CharClass::kNumber) {
    std::size_t end = second;
    for (int n = 1; n < Digits && char_at(text, end).kind == CharClass::kNumber; ++n) end += char_at(text, end).bytes;
    return end;
  }
  if (!is_newline(first) && char_at(text, second).kind == CharClass::kLetter)
    return run_of(CharClass::kLetter, text, second);

  const std::size_t start = first.code == ' ' ? second : at;
  if (char_at(text, start).kind == CharClass::kOther) {
    std::size_t end = run_of(CharClass::kOther, text, start);
    while (is_newline(char_at(text, end))) ++end;
    return end;
  }
  std::size_t after_newline = at;
  for (std::size_t end = at; char_at(text, end).kind == CharClass::kSpace; end += char_at(text, end).bytes)
    if (is_newline(char_at(text, end))) after_newline = end + 1;
  return after_newline != at ? after_newline : spaces(text, at);
}

constexpr std::array<PreTokenizer, 4> kPreTokenizers{{
    {"gpt-2", gpt2, false, false, false, false},
    {"llama-bpe", llama3<3>, false, false, true, true},
    {"qwen2", llama3<1>, false, true, false, false},
    {"smollm", gpt2, true, false, false, false},
}};

}  // namespace

const PreTokenizer* pre_tokenizer_named(std::string_view name) {
  for (const PreTokenizer& p : kPreTokenizers)
    if (p.name == name) return &p;
  return nullptr;
}

std::string pre_tokenizer_names() {
  std::string out;
  for (const PreTokenizer& p : kPreTokenizers) out += (out.empty() ? "" : ", ") + std::string(p.name);
  return out;
}

}  // namespace krt::engine
