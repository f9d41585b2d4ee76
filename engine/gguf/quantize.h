#pragma once
// A model file with its weight matrices in another format.
//
// Matrices are the tensors of two dimensions whose name ends in ".weight"; all others (norms, biases, frequencies) and
// all keys stay as they are, but for general.file_type and general.quantization_version, which are set, and split.*,
// which go: the output is one file. It is written tensor by tensor, in pieces of 4 Mi values: memory does not grow with
// the model.

#include <functional>
#include <string>
#include <vector>

#include "engine/gguf/gguf.h"
#include "runtime/exec/context.h"

namespace krt::engine {

// Each has an encoder.
struct QuantizeOptions {
  const quant::Format* weights;
  const quant::Format* embedding;  // of token_embd.weight
  const quant::Format* output;     // of output.weight
};

struct PlannedTensor {
  const GgufTensor* from;
  const quant::Format* to;      // from->format: it is copied
  const quant::Format* wanted;  // another than `to`: rows are no whole number of its blocks
  [[nodiscard]] std::uint64_t bytes() const;
};

// Where rows do not fit a format's blocks, the smallest plainer one of at least as many bits that they fit: Q4_0 for
// Q2_K and Q3_K, Q5_0 for Q4_K, Q5_1 for Q5_K, Q8_0 for Q6_K, and F16 where rows are no multiple of 32 either. Refused:
// a tensor to re-encode that krt cannot decode.
Result<std::vector<PlannedTensor>> plan_quantize(const GgufFile& file, const QuantizeOptions& options);

// Writes the planned file (OutputFile: whole or not at all). `progress` is called before each tensor. Refused: a value
// that its format cannot hold, by tensor and index; a file that shrank. Throws StatusError at a cancelled checkpoint.
// Returns the size of the file.
Result<std::uint64_t> quantize(Context& context, const GgufFile& file, const std::vector<PlannedTensor>& plan,
                               const quant::Format& weights, const std::string& path, bool overwrite,
                               const std::function<void(std::size_t index)>& progress = {});

}  // namespace krt::engine
