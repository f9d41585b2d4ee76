#pragma once
// What a model's tokenizer says of a prompt and of the end of a text.

#include <string_view>
#include <vector>

#include "engine/model/model.h"

namespace krt::engine {

// The ids of a text to go on from, its beginning added where the model wants it. Refused where the file has no
// tokenizer.
Result<std::vector<std::int64_t>> encode_prompt(const Model& model, std::string_view text, bool parse_special);
// The tokens that end a generation; none without a tokenizer.
std::vector<std::int64_t> end_tokens(const Model& model);

}  // namespace krt::engine
