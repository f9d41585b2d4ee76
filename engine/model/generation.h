#pragma once
// Generation: a prompt and what a model writes after it, token by token, as the caller asks for them.
//
//   Generation g(model, std::move(sequence), options);
//   Status read = g.prefill(context, prompt_ids);
//   while (true) {
//     Result<std::optional<std::int64_t>> token = g.next(context);
//     if (!token.ok() || !token->has_value()) break;       // finish() says why
//   }
//
// Sampling is decode.sample's, with its options and order; token i of the text is drawn at position i of the seed. At
// temperature 0 without penalties it is the largest logit (decode.argmax; llmk.generate.greedy_argmax_flat where the
// model is the reference). A token depends on the model, the ids before it, the options and the seed, on nothing else.

#include <memory>
#include <optional>
#include <vector>

#include "engine/model/model.h"
#include "modules/decode/sample/sample.h"

namespace krt::engine {

struct GenerateOptions {
  std::int64_t max_tokens = 128;
  decode::SampleOptions sampling = {.temperature = 0};
  std::int64_t seed = 0;
  std::vector<std::int64_t> end_tokens = {};  // that end the text; they are not part of it
};

enum class Finish : std::uint8_t { kNotYet, kBudget, kEndToken, kStopString, kCancelled };
std::string_view name_of(Finish finish);  // "length", "end", "stop", "cancelled"

// The largest logit, the first of equals, and its distance to the second: how clear the choice is.
struct TopTwo {
  std::int64_t id;
  double logit, gap;
};
TopTwo top_two(const Tensor& logits);

class Generation {
 public:
  using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

  // `model` outlives this.
  Generation(const Model& model, std::unique_ptr<Sequence> sequence, GenerateOptions options);

  // Reads the prompt, once: what the sequence has not read of it, which is 1 or more ids. What it has read must be the
  // prompt's beginning.
  Status prefill(Context& context, std::span<const std::int64_t> prompt, const Progress& progress = {});
  // The next token, or none where the text has ended. sequence().logits() are then those that it was chosen by.
  Result<std::optional<std::int64_t>> next(Context& context);
  [[nodiscard]] Finish finish() const { return finish_; }
  // Ends the text before its own end.
  void end(Finish why) { finish_ = why; }

  // Prompt and text.
  [[nodiscard]] std::span<const std::int64_t> ids() const { return ids_; }
  [[nodiscard]] const Sequence& sequence() const { return *sequence_; }
  // For a text that goes on from this one: it has read ids(), but perhaps the last. Nothing is generated after it.
  [[nodiscard]] std::unique_ptr<Sequence> take_sequence() { return std::move(sequence_); }

 private:
  Result<std::int64_t> choose(Context& context, const Tensor& logits);
  Result<std::int64_t> draw(Context& context, const Tensor& logits);

  const Model& model_;
  std::unique_ptr<Sequence> sequence_;
  GenerateOptions options_;
  std::vector<std::int64_t> ids_;
  std::size_t prompt_ = 0;
  Finish finish_ = Finish::kNotYet;
  std::vector<float> row_;  // f64 logits rounded, for sampling
  decode::SampleWorkspace workspace_;
};

}  // namespace krt::engine
