#pragma once
// Checkpoint: a model file whose configuration and tensors have been checked, tensor by tensor, against each other.
//
// A layer has the same members in every form that it takes: tensors of the file here, f64 values in the reference,
// bound kernels in the fast model. A part that an architecture lacks is an empty member.

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/model/config.h"
#include "engine/tokenizer/tokenizer.h"

namespace krt::engine {

template <class Vector, class Matrix>
struct LayerOf {
  Vector attn_norm{}, q_bias{}, k_bias{}, v_bias{}, q_norm{}, k_norm{}, post_attn_norm{}, ffn_norm{}, post_ffn_norm{};
  Matrix q{}, k{}, v{}, o{}, gate{}, up{}, down{};  // outputs x inputs, row-major

  static constexpr std::array kVectors{&LayerOf::attn_norm,      &LayerOf::q_bias,   &LayerOf::k_bias,
                                       &LayerOf::v_bias,         &LayerOf::q_norm,   &LayerOf::k_norm,
                                       &LayerOf::post_attn_norm, &LayerOf::ffn_norm, &LayerOf::post_ffn_norm};
  static constexpr std::array kMatrices{&LayerOf::q,    &LayerOf::k,  &LayerOf::v,   &LayerOf::o,
                                        &LayerOf::gate, &LayerOf::up, &LayerOf::down};
};

template <class Vector, class Matrix>
struct WeightsOf {
  Matrix embedding{};  // vocab x width
  std::vector<LayerOf<Vector, Matrix>> layers;
  Vector output_norm{};
  Matrix output{};  // vocab x width; the embedding itself where the two are tied
};

// The same weights in another form: every vector and matrix of `from` through a function.
template <class To, class From, class OfVector, class OfMatrix>
void convert_layer(const From& from, To& to, const OfVector& of_vector, const OfMatrix& of_matrix) {
  for (std::size_t i = 0; i < From::kVectors.size(); ++i) to.*To::kVectors[i] = of_vector(from.*From::kVectors[i]);
  for (std::size_t i = 0; i < From::kMatrices.size(); ++i) to.*To::kMatrices[i] = of_matrix(from.*From::kMatrices[i]);
}

struct Checkpoint {
  using TensorRef = const GgufTensor*;  // null: the model has no such part
  std::shared_ptr<const GgufFile> file;
  ModelConfig config;
  WeightsOf<TensorRef, TensorRef> weights;
  std::shared_ptr<const Tokenizer> tokenizer;  // null: the file has none

  // Refused with the tensor's name: one that is missing, of another shape, of a format without a mat-vec, or that the
  // architecture does not have.
  static Result<std::shared_ptr<const Checkpoint>> open(const std::string& path);
  [[nodiscard]] bool tied() const { return weights.output == weights.embedding; }
};

// The values of a tensor, or of row `row` of it, as its format defines them. `out` is as long as what is asked for.
void decode_tensor(const GgufTensor& tensor, std::span<float> out);
void decode_row(const GgufTensor& tensor, std::size_t row, std::span<float> out);
std::vector<float> decoded(const GgufTensor& tensor);

}  // namespace krt::engine
