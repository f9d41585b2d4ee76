#include "engine/model/generate_functions.h"

#include "engine/model/model_functions.h"
#include "engine/model/prompt.h"
#include "engine/model/text_stream.h"

namespace krt::engine {
namespace {

using OptionalText = std::optional<std::string_view>;
using OptionalIds = std::optional<std::span<const std::int64_t>>;

// One of a text and ids.
Result<std::vector<std::int64_t>> prompt_of(const Model& model, OptionalText text, OptionalIds ids,
                                            bool parse_special) {
  if (text.has_value() == ids.has_value()) return invalid("one of the arguments 'prompt' and 'prompt_ids' is wanted");
  if (ids) return std::vector<std::int64_t>(ids->begin(), ids->end());
  return encode_prompt(model, *text, parse_special);
}

// Null, a text, or a list of texts.
Result<std::vector<std::string>> stops_of(const Value& stop) {
  if (stop.is_null()) return std::vector<std::string>{};
  if (const auto* one = stop.get_if<std::string>()) return std::vector<std::string>{*one};
  std::vector<std::string> out;
  const auto* list = stop.get_if<List>();
  for (const Value& v : list != nullptr ? *list : List{Value()}) {
    const auto* text = v.get_if<std::string>();
    if (text == nullptr)
      return invalid("argument 'stop' must be a string or a list of strings, got " + type_text(stop));
    out.push_back(*text);
  }
  return out;
}

Dict event_of(const Written& written) {
  Dict event;
  if (written.id) event.emplace_back("id", *written.id);
  event.emplace_back("text", written.piece);
  return event;
}

// `options` lacks its end tokens.
Result<Generated> write(Context& context, const Model& model, const std::vector<std::int64_t>& prompt,
                        GenerateOptions options, bool ignore_eos, decode::CacheFormat cache,
                        std::vector<std::string> stops) {
  if (options.max_tokens < 0 || options.max_tokens > kMaxContext)
    return invalid("argument 'max_tokens' must be 0 to " + std::to_string(kMaxContext) + ", is " +
                   std::to_string(options.max_tokens));
  auto sequence = model.start(context, {.capacity = std::ssize(prompt) + options.max_tokens, .cache = cache});
  if (!sequence.ok()) return sequence.status();
  if (!ignore_eos) options.end_tokens = end_tokens(model);
  Generation generation(model, std::move(sequence).value(), std::move(options));
  if (Status failed = generation.prefill(context, prompt); !failed.ok()) return failed;
  TextStream text(model.tokenizer().get(), std::move(stops));
  Generated out{{}, {}, {}, std::ssize(prompt)};
  const Status failed = write_all(context, generation, text, [&](const Written& written) {
    if (context.sink != nullptr) context.emit(event_of(written));
    out.text += written.piece;
    if (written.id) out.ids.push_back(*written.id);
    return true;
  });
  if (!failed.ok()) return failed;
  out.finish = name_of(generation.finish());
  return out;
}

Result<Generated> generate(Context& context, Handle handle, OptionalText prompt, OptionalIds prompt_ids,
                           std::int64_t max_tokens, double temperature, std::int64_t top_k, double top_p, double min_p,
                           double typical_p, double repetition_penalty, double presence_penalty,
                           double frequency_penalty, std::int64_t seed, const Value& stop, bool ignore_eos,
                           bool parse_special, std::string_view cache) {
  const auto model = model_of(context, handle);
  if (!model.ok()) return model.status();
  const auto ids = prompt_of(**model, prompt, prompt_ids, parse_special);
  if (!ids.ok()) return ids.status();
  const auto stops = stops_of(stop);
  if (!stops.ok()) return stops.status();
  const auto format = cache_of(cache);
  if (!format.ok()) return format.status();
  GenerateOptions options{.max_tokens = max_tokens, .seed = seed};
  options.sampling = {.temperature = temperature,
                      .top_k = top_k,
                      .top_p = top_p,
                      .min_p = min_p,
                      .typical_p = typical_p,
                      .repetition_penalty = repetition_penalty,
                      .presence_penalty = presence_penalty,
                      .frequency_penalty = frequency_penalty};
  return write(context, **model, *ids, std::move(options), ignore_eos, *format, *stops);
}

}  // namespace

void declare_generate(ModuleBuilder& m) {
  m.function<generate>(
       "generate", "The text that a model writes after a prompt, token by token as events",
       {{"model", "a handle of engine.load"},
        {"prompt", "the text to go on from; its beginning is added where the model wants it"},
        {"prompt_ids", "its token ids, in the place of a text"},
        {"max_tokens", "tokens to write at most, 0 to 2^24", 128},
        {"temperature", "divides the logits; 0 takes the largest", 0.0},
        {"top_k", "how many of the largest logits stay; 0 is off", 0},
        {"top_p", "smallest nucleus of that mass; 1 is off", 1.0},
        {"min_p", "smallest share of the top probability; 0 is off", 0.0},
        {"typical_p", "mass of the typical set; 1 is off", 1.0},
        {"repetition_penalty", "divides the positive logits of tokens of the text, multiplies the others", 1.0},
        {"presence_penalty", "taken off each logit of a token of the text", 0.0},
        {"frequency_penalty", "taken off it once for every occurrence", 0.0},
        {"seed", "of the draws: the same seed writes the same text", 0},
        {"stop", "a string or a list of strings that end the text and are no part of it", nullptr},
        {"ignore_eos", "the text goes on behind an end-of-text token", false},
        {"parse_special", "<|im_end|> in the prompt is that token, else text", false},
        {"cache", "format of keys and values: f32, f16, bf16, q8_0; the reference's are f64", "f16"}})
      .details("Events: {id, text} for each token. The ids are the same for every thread count and every transport")
      .caps({.determinism = Determinism::kBitExactPerVariant,
             .seed = Seed::kOptional,
             .side_effects = SideEffects::kReadsFiles});
}

}  // namespace krt::engine
