#include "engine/model/config.h"

#include <array>
#include <cmath>

namespace krt::engine {
namespace {

constexpr std::array<Architecture, 4> kArchitectures{{
    {"llama", true, Part::kOptional, Part::kAbsent, false, false, false, Gate::kSilu},
    {"qwen2", false, Part::kRequired, Part::kAbsent, false, false, false, Gate::kSilu},
    {"qwen3", false, Part::kAbsent, Part::kRequired, false, false, false, Gate::kSilu},
    {"gemma3", false, Part::kAbsent, Part::kRequired, true, true, true, Gate::kGeluTanh},
}};

// Of Gemma 3, where the file does not say: five layers with a window to one without, and the base of their angles.
constexpr std::int64_t kGemmaPattern = 6;
constexpr double kGemmaLocalTheta = 10000;
// The 27B model alone scales by its width a head, not by its head dimension; no key tells.
constexpr std::int64_t kGemma27BLayers = 62;

const Architecture* architecture_named(std::string_view name) {
  for (const Architecture& a : kArchitectures)
    if (a.name == name) return &a;
  return nullptr;
}

std::string shown(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", x);
  return text.data();
}

// Reads keys one after the other; after the first refusal the rest is skipped, and the refusal kept.
class ConfigReader {
 public:
  ConfigReader(const GgufFile& file, const std::string& path) : file_(file), header_(file.header()), path_(path) {}

  Result<ModelConfig> run() {
    read_architecture();
    if (refusal_.ok()) read_sizes();
    if (refusal_.ok()) read_numbers();
    if (refusal_.ok()) read_rope();
    if (refusal_.ok()) read_windows();
    if (refusal_.ok()) refuse_what_is_not_served();
    if (!refusal_.ok()) return refusal_;
    return std::move(config_);
  }

 private:
  void refuse(const std::string& text) {
    if (refusal_.ok()) refusal_ = invalid(quoted(path_) + ": " + text);
  }
  [[nodiscard]] std::string key(std::string_view suffix) const {
    return std::string(config_.architecture->name) + "." + std::string(suffix);
  }

  template <class T>
  T take(Result<T> value, T otherwise = {}) {
    if (value.ok()) return *value;
    if (refusal_.ok()) refusal_ = value.status();
    return otherwise;
  }

  std::int64_t integer(std::string_view suffix, std::int64_t low, std::int64_t high) {
    const std::int64_t n = take(header_.integer(key(suffix)));
    if (refusal_.ok() && (n < low || n > high))
      refuse("key " + quoted(key(suffix)) + " is " + std::to_string(n) + ", must be " + std::to_string(low) + " to " +
             std::to_string(high));
    return n;
  }
  std::int64_t integer(std::string_view suffix, std::int64_t low, std::int64_t high, std::int64_t otherwise) {
    return header_.find(key(suffix)) == nullptr ? otherwise : integer(suffix, low, high);
  }
  double positive(std::string_view suffix) {
    const double x = take(header_.number(key(suffix)));
    if (refusal_.ok() && !(std::isfinite(x) && x > 0))
      refuse("key " + quoted(key(suffix)) + " is " + shown(x) + ", must be finite and above 0");
    return x;
  }
  double positive(std::string_view suffix, double otherwise) {
    return header_.find(key(suffix)) == nullptr ? otherwise : positive(suffix);
  }

  void read_architecture() {
    const std::string_view name = take(header_.text("general.architecture"));
    if (!refusal_.ok()) return;
    config_.architecture = architecture_named(name);
    if (config_.architecture == nullptr)
      return refuse("key 'general.architecture' is " + quoted(name) + ", which krt cannot run; it runs " +
                    supported_architectures());
    config_.name = header_.find("general.name") != nullptr ? take(header_.text("general.name")) : name;
  }

  void read_sizes() {
    ModelConfig& c = config_;
    c.layers = integer("block_count", 1, kMaxLayers);
    c.width = integer("embedding_length", 1, kMaxWidth);
    c.ff = integer("feed_forward_length", 1, kMaxWidth);
    c.heads = integer("attention.head_count", 1, kMaxHeads);
    c.kv_heads = integer("attention.head_count_kv", 1, kMaxHeads, c.heads);
    c.context = integer("context_length", 1, INT64_MAX);
    if (!refusal_.ok()) return;
    c.context = std::min(c.context, kMaxContext);
    if (c.heads % c.kv_heads != 0)
      return refuse("key " + quoted(key("attention.head_count")) + " is " + std::to_string(c.heads) +
                    ", must be a multiple of the " + std::to_string(c.kv_heads) + " KV heads");
    if (header_.find(key("attention.key_length")) == nullptr && c.width % c.heads != 0)
      return refuse("key " + quoted(key("embedding_length")) + " is " + std::to_string(c.width) +
                    ", must be a multiple of the " + std::to_string(c.heads) + " heads");
    c.head_dim = integer("attention.key_length", 2, kMaxHeadDim, c.width / c.heads);
    if (refusal_.ok() && (c.head_dim < 2 || c.head_dim > kMaxHeadDim || c.head_dim % 2 != 0))
      return refuse("a head has " + std::to_string(c.head_dim) + " values, must have an even number of 2 to " +
                    std::to_string(kMaxHeadDim));
    for (const std::string_view same : {"attention.value_length", "rope.dimension_count"})
      if (integer(same, 1, INT64_MAX, c.head_dim) != c.head_dim)
        refuse("key " + quoted(key(same)) + " must be the head dimension, " + std::to_string(c.head_dim));
    read_vocabulary();
  }

  void read_vocabulary() {
    const GgufTensor* embedding = file_.tensor("token_embd.weight");
    if (embedding == nullptr) return refuse("tensor 'token_embd.weight' is missing");
    if (embedding->dims.size() != 2) return refuse("tensor 'token_embd.weight' must have two dimensions");
    config_.vocab = embedding->dims[1];
    if (config_.vocab > kMaxContext) return refuse("tensor 'token_embd.weight' has more than 2^24 rows");
    const MetaValue* tokens = header_.find("tokenizer.ggml.tokens");
    if (tokens != nullptr && tokens->count != static_cast<std::uint64_t>(config_.vocab))
      refuse("key 'tokenizer.ggml.tokens' has " + std::to_string(tokens->count) +
             " entries, tensor 'token_embd.weight' has " + std::to_string(config_.vocab) + " rows");
  }

  void read_numbers() {
    ModelConfig& c = config_;
    c.eps = positive("attention.layer_norm_rms_epsilon");
    const bool gemma_27b = c.architecture->windows && c.layers == kGemma27BLayers;
    c.attention_scale = 1 / std::sqrt(static_cast<double>(gemma_27b ? c.width / c.heads : c.head_dim));
    if (c.architecture->scaled_embedding) c.embedding_scale = std::sqrt(static_cast<double>(c.width));
  }

  double base(std::string_view suffix, double otherwise) {
    const double theta = positive(suffix, otherwise);
    if (refusal_.ok() && theta < 1)
      refuse("key " + quoted(key(suffix)) + " is " + shown(theta) + ", must be 1 or more");
    return theta;
  }

  void read_rope() {
    const auto pairs = static_cast<std::size_t>(config_.head_dim / 2);
    config_.rope = {base("rope.freq_base", 10000), std::vector<double>(pairs, linear_factor())};
    config_.local_rope = {base("rope.freq_base_swa", kGemmaLocalTheta), std::vector<double>(pairs, 1)};
    if (const GgufTensor* factors = file_.tensor("rope_freqs.weight"); factors != nullptr) read_factors(*factors);
  }

  // Positions are divided by it, so frequencies are.
  double linear_factor() {
    if (header_.find(key("rope.scaling.type")) == nullptr) return 1;
    const std::string_view type = take(header_.text(key("rope.scaling.type")));
    if (type == "linear") return positive("rope.scaling.factor");
    if (refusal_.ok() && type != "none")
      refuse("key " + quoted(key("rope.scaling.type")) + " is " + quoted(type) +
             ", which krt does not know; it knows none, linear, and the factors of tensor 'rope_freqs.weight'");
    return 1;
  }

  void read_factors(const GgufTensor& tensor) {
    std::vector<double>& factors = config_.rope.factors;
    if (tensor.format->info.name != "F32" || tensor.elements() != std::ssize(factors))
      return refuse("tensor 'rope_freqs.weight' must be " + std::to_string(factors.size()) + " values of F32");
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const auto factor = quant::load<float>(tensor.data.data() + i * sizeof(float));
      if (!(std::isfinite(factor) && factor > 0))
        return refuse("tensor 'rope_freqs.weight' holds " + shown(double{factor}) +
                      ", its factors must be finite and above 0");
      factors[i] *= double{factor};
    }
  }

  void read_windows() {
    if (!config_.architecture->windows) return;
    config_.window = integer("attention.sliding_window", 1, INT64_MAX);
    config_.pattern = integer("attention.sliding_window_pattern", 1, kMaxLayers, kGemmaPattern);
  }

  // Keys that change what the network computes in ways that krt does not have.
  void refuse_what_is_not_served() {
    for (const std::string_view suffix :
         {"expert_count", "attention.max_alibi_bias", "attention.clamp_kqv", "attn_logit_softcapping",
          "final_logit_softcapping", "logit_scale", "residual_scale", "attention.scale", "embedding_scale"})
      if (header_.find(key(suffix)) != nullptr && take(header_.number(key(suffix))) != 0)
        refuse("key " + quoted(key(suffix)) + " asks for something that krt does not have");
  }

  const GgufFile& file_;
  const Gguf& header_;
  const std::string& path_;
  ModelConfig config_;
  Status refusal_;
};

}  // namespace

std::string supported_architectures() {
  std::string out;
  for (const Architecture& a : kArchitectures) out += (out.empty() ? "" : ", ") + std::string(a.name);
  return out;
}

Result<ModelConfig> read_config(const GgufFile& file, const std::string& path) {
  return ConfigReader(file, path).run();
}

}  // namespace krt::engine
