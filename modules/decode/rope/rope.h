#pragma once
// decode.rope: rotary position embedding of queries and keys in place. Every head of a row is rotated by its row's
// position: pair i of head_dim / 2 by the angle
//
//   angle(i) = pos * theta^(-2 i / head_dim),   (a, b) -> (a cos - b sin, b cos + a sin)
//
// where a pair is (x[i], x[i + head_dim / 2]) (half-split: Llama as converted for HF, Qwen, Gemma) or, interleaved,
// (x[2 i], x[2 i + 1]) (the paper; GPT-J). Source: Su et al., "RoFormer" (2021).
//
// Shapes    pos: rows positions, 0 <= pos <= 2^24; q: rows * q_heads * head_dim values, k: rows * k_heads * head_dim;
//           the head counts follow from the lengths. k may be empty; head_dim even, 2 to 2^24
// Types     f32 in place; f16 and bf16 tensors are rotated in f32 and rounded back, once
// Aliasing  q and k do not overlap
// Error     angles, cosines and sines in f64, so that no position loses accuracy; for each pair
//           |a' - exact| <= 4 * 2^-24 (|a cos| + |b sin|), and likewise b', plus 2^-149 where a product is subnormal
// Bits      for one variant the same whatever the thread count and the number of rows; variants differ within the bound
// Special   NaN and infinities follow IEEE within their pair; no other pair sees them
// Status    600; else 601 (pos or q empty, head_dim < 1), 602 (head_dim), 604 (q or k is no whole number of rows of
//           heads), 608 (head_dim odd), 610 (pos), 611 (overlap), 612 (theta not finite or < 1); then nothing changed

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/dispatch/variant.h"
#include "runtime/registry/floats.h"

namespace krt::decode {

struct RopeResult {
  std::int64_t status;
  static constexpr std::array kFields{"status"};
};
RopeResult rope(Context& context, const FloatsInPlace& q, const FloatsInPlace& k, std::span<const std::int64_t> pos,
                std::int64_t head_dim, double theta, bool interleaved);

// The angles of one row, one entry per pair.
struct RopeAngles {
  std::vector<double> cos, sin;
};
// frequency[i] = theta^(-2 i / head_dim).
std::vector<double> rope_frequencies(std::size_t head_dim, double theta);
void rope_angles(std::int64_t pos, std::span<const double> frequencies, RopeAngles& angles);

// Without an allocation, by angles that the caller has: row r of x, whole heads of 2 * pairs values, turns by
// cos[r * pairs + i] and sin[r * pairs + i]. The caller has made the checks.
void rope_rows(Context& context, std::span<float> x, std::size_t rows, std::size_t pairs, std::span<const double> cos,
               std::span<const double> sin, bool interleaved);

// Rotates `heads` heads of 2 * pairs values, one behind the other.
using RopeRow = void(float* x, std::size_t heads, std::size_t pairs, const double* cos, const double* sin,
                     bool interleaved);
RopeRow rope_row_reference;  // in f64, rounded once: the variant "scalar"
const std::vector<Variant<RopeRow>>& rope_variants();

}  // namespace krt::decode
