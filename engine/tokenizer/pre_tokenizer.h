#pragma once
// Pre-tokenizers: how a text is cut into the words that byte-pair merging works on, by the name in
// `tokenizer.ggml.pre`. No token crosses the end of a word.
//
// Source: the regular expressions in the Hugging Face tokenizer.json of each family, which stand beside the matcher
// of each. They are matched by hand: `\s+(?!\S)` needs a look ahead that RE2 does not have, and a matcher that
// backtracks has no bound on its time.

#include <string>
#include <string_view>

#include "engine/tokenizer/unicode.h"

namespace krt::engine {

struct PreTokenizer {
  std::string_view name;
  // Where the word ends that begins at byte `at` < text.size().
  std::size_t (*word_end)(std::string_view text, std::size_t at);
  bool lone_numbers;  // every \p{N} is a word of its own, cut out before all else
  bool composes;      // the text is put into NFC first
  bool whole_words;   // a word that is a token is that token, whatever the merges say
  bool begins_text;   // the beginning-of-text token is added unless the metadata says otherwise

  // Calls f(word) for every word of `text`, which is well-formed.
  template <class F>
  void for_each_word(std::string_view text, const F& f) const {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = lone_numbers ? run_end(text, at) : text.size();
      const std::string_view run = text.substr(0, end);
      while (at < end) {
        const std::size_t next = word_end(run, at);
        f(text.substr(at, next - at));
        at = next;
      }
    }
  }

 private:
  // The end of one number, or of what stands before the next one.
  static std::size_t run_end(std::string_view text, std::size_t at) {
    Char c = char_at(text, at);
    if (c.kind == CharClass::kNumber) return at + c.bytes;
    while (c.kind != CharClass::kNumber && c.kind != CharClass::kEnd) {
      at += c.bytes;
      c = char_at(text, at);
    }
    return at;
  }
};

// Null where there is none of that name.
const PreTokenizer* pre_tokenizer_named(std::string_view name);
// "gpt-2, llama-bpe, qwen2, smollm".
std::string pre_tokenizer_names();

}  // namespace krt::engine
