#pragma once
// TextStream: the tokens of a generation as text that may be shown: whole characters, and nothing of a stop string.

#include <string>
#include <vector>

#include "engine/model/generation.h"
#include "engine/model/stop_scanner.h"
#include "engine/tokenizer/tokenizer.h"

namespace krt::engine {

class TextStream {
 public:
  // `tokenizer` outlives this; null: there is no text to show.
  TextStream(const Tokenizer* tokenizer, std::vector<std::string> stops);

  // What the token adds to what may be shown; it may be empty.
  std::string push(std::int64_t id);
  // What was held back, once the text has ended.
  std::string finish();
  [[nodiscard]] bool stopped() const { return scanner_.stopped(); }

 private:
  std::optional<StreamDecoder> decoder_;
  StopScanner scanner_;
};

// A token that was written, and the text that may be shown since; the last piece of a text comes with no token.
struct Written {
  std::optional<std::int64_t> id;
  std::string piece;
};
// Lets `generation` write until its text ends, or `show` answers false (Finish::kCancelled).
Status write_all(Context& context, Generation& generation, TextStream& text,
                 const std::function<bool(const Written&)>& show);

}  // namespace krt::engine
