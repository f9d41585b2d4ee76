// Any bytes as JSON: what is accepted is written and read back to the same value, in both spellings of NaN, and a
// refusal names a byte of the text.

#include <cstdlib>
#include <iostream>

#include "runtime/codec/json.h"

namespace {

using Parse = krt::Result<krt::Value> (*)(std::string_view);

// The string "NaN" and the token NaN are written alike where the reply must be strict JSON; read back, they are
// strings.
bool reads_back(Parse parse, const krt::Value& value, krt::NonFinite spelling) {
  const std::string text = krt::to_json(value, spelling);
  const krt::Result<krt::Value> again = parse(text);
  if (!again.ok()) return false;
  return spelling == krt::NonFinite::kTokens ? krt::identical(*again, value) : krt::to_json(*again, spelling) == text;
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << what << '\n';
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Parse parse : {krt::parse_json, krt::parse_json_args}) {
    const krt::Result<krt::Value> value = parse(text);
    if (value.ok()) {
      require(reads_back(parse, *value, krt::NonFinite::kTokens), "not the same value when read back");
      require(reads_back(parse, *value, krt::NonFinite::kStrings), "not the same text when written again");
    } else {
      require(value.status().reason() == krt::Reason::kInvalidArguments, "refused for another reason");
      require(value.status().message().starts_with("malformed JSON at byte "), "refused without an offset");
    }
  }
  return 0;
}
