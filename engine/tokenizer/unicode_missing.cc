// In place of unicode.cc where krt is built without utf8proc.

#include "engine/tokenizer/unicode.h"

namespace krt::engine {

Status unicode_ready() {
  return {Reason::kFailedPrecondition, "this krt was built without utf8proc and has no tokenizers"};
}
CharClass class_of(char32_t /*code*/) { return CharClass::kOther; }
char32_t folded(char32_t code) { return code; }
std::string composed(std::string_view text) { return std::string(text); }

}  // namespace krt::engine
