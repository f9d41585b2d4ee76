#include "engine/model/model.h"

#include <algorithm>

namespace krt::engine {

Status check_read(const Checkpoint& checkpoint, const Sequence& sequence, std::span<const std::int64_t> ids) {
  if (ids.empty()) return invalid("there are no tokens to read");
  const std::int64_t vocab = checkpoint.config.vocab;
  for (const std::int64_t id : ids)
    if (id < 0 || id >= vocab)
      return invalid("token id " + std::to_string(id) + " is outside the vocabulary, 0 to " +
                     std::to_string(vocab - 1));
  if (std::ssize(ids) > sequence.capacity() - sequence.position())
    return {Reason::kResourceExhausted, "the sequence has room for " + std::to_string(sequence.capacity()) +
                                            " tokens, " + std::to_string(sequence.position()) + " are read and " +
                                            std::to_string(ids.size()) + " more do not fit"};
  return {};
}

Result<std::int64_t> capacity_of(const ModelConfig& config, const SequenceOptions& options) {
  if (options.capacity == 0) return std::min(config.context, kDefaultCapacity);
  if (options.capacity < 0 || options.capacity > kMaxContext)
    return invalid("a sequence of " + std::to_string(options.capacity) + " tokens: it must be 1 to " +
                   std::to_string(kMaxContext));
  return options.capacity;
}

}  // namespace krt::engine
