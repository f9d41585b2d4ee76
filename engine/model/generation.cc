#include "engine/model/generation.h"

#include <algorithm>
#include <limits>

#include "engine/model/named_kernels.h"
#include "modules/decode/argmax/argmax.h"
#include "modules/decode/contract/contract.h"

namespace krt::engine {
namespace {

// Prompt tokens between two reports of progress.
constexpr std::size_t kReport = 512;

bool penalised(const decode::SampleOptions& o) {
  return o.repetition_penalty != 1 || o.presence_penalty != 0 || o.frequency_penalty != 0;
}

template <class T>
TopTwo top_two_of(std::span<const T> logits) {
  std::size_t best = 0;
  double second = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best]) {
      second = double{logits[best]};
      best = i;
    } else {
      second = std::max(second, double{logits[i]});
    }
  }
  return {static_cast<std::int64_t>(best), double{logits[best]}, double{logits[best]} - second};
}

}  // namespace

std::string_view name_of(Finish finish) {
  switch (finish) {
    case Finish::kBudget: return "length";
    case Finish::kEndToken: return "end";
    case Finish::kStopString: return "stop";
    case Finish::kCancelled: return "cancelled";
    default: return "not_yet";
  }
}

TopTwo top_two(const Tensor& logits) {
  return logits.dtype() == DType::kF64 ? top_two_of(logits.as<double>()) : top_two_of(logits.as<float>());
}

Generation::Generation(const Model& model, std::unique_ptr<Sequence> sequence, GenerateOptions options)
    : model_(model), sequence_(std::move(sequence)), options_(std::move(options)) {
  ids_.reserve(static_cast<std::size_t>(sequence_->capacity()) + 1);
}

Status Generation::prefill(Context& context, std::span<const std::int64_t> prompt, const Progress& progress) {
  ids_.assign(prompt.begin(), prompt.end());
  prompt_ = prompt.size();
  if (options_.max_tokens <= 0) finish_ = Finish::kBudget;
  std::span<const std::int64_t> unread = prompt.subspan(static_cast<std::size_t>(sequence_->position()));
  if (Status refused = check_read(model_.checkpoint(), *sequence_, unread); !refused.ok()) return refused;
  while (!unread.empty()) {
    const auto piece = unread.first(std::min(kReport, unread.size()));
    if (Status failed = sequence_->read(context, piece); !failed.ok()) return failed;
    unread = unread.subspan(piece.size());
    if (progress) progress(sequence_->position(), std::ssize(prompt));
  }
  return {};
}

Result<std::optional<std::int64_t>> Generation::next(Context& context) {
  using Answer = std::optional<std::int64_t>;
  if (finish_ != Finish::kNotYet) return Answer();
  if (static_cast<std::int64_t>(ids_.size() - prompt_) >= options_.max_tokens) {
    finish_ = Finish::kBudget;
    return Answer();
  }
  // The token before is read only now: the last one of a text never is.
  if (ids_.size() > prompt_)
    if (Status failed = sequence_->read(context, std::span(ids_).last(1)); !failed.ok()) return failed;
  const Tensor logits = sequence_->logits();
  const Result<std::int64_t> id = choose(context, logits);
  if (!id.ok()) return id.status();
  if (std::find(options_.end_tokens.begin(), options_.end_tokens.end(), *id) != options_.end_tokens.end()) {
    finish_ = Finish::kEndToken;
    return Answer();
  }
  ids_.push_back(*id);
  return Answer(*id);
}

Result<std::int64_t> Generation::choose(Context& context, const Tensor& logits) {
  if (options_.sampling.temperature != 0 || penalised(options_.sampling)) return draw(context, logits);
  if (logits.dtype() == DType::kF32) return static_cast<std::int64_t>(decode::argmax_of(context, logits.as<float>()));
  const Value greedy = NamedKernels(context).value("llmk.generate", "greedy_argmax_flat", {logits, logits.elements()});
  return *greedy["token_id"].get_if<std::int64_t>();
}

Result<std::int64_t> Generation::draw(Context& context, const Tensor& logits) {
  std::span<const float> row = logits.as<float>();
  if (logits.dtype() == DType::kF64) {
    const auto exact = logits.as<double>();
    row_.resize(exact.size());
    std::transform(exact.begin(), exact.end(), row_.begin(), [](double x) { return static_cast<float>(x); });
    row = row_;
  }
  decode::Draw draw{.position = static_cast<std::int64_t>(ids_.size() - prompt_)};
  if (options_.sampling.temperature != 0) draw.seed = options_.seed;
  const decode::RowPasses& passes = pick(context, decode::row_variants(), {std::ssize(row)}).run();
  const decode::SampleResult r = decode::sample(passes, row, options_.sampling, ids_, draw, workspace_);
  if (r.status != decode::kOk) return invalid("sampling: " + std::string(decode::decode_status_name(r.status)));
  return r.token_id;
}

}  // namespace krt::engine
