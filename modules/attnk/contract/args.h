#pragma once
// The parameters that several functions of the family share, as their declarations name and describe them.

#include "runtime/registry/module_builder.h"

namespace krt::attnk::args {

inline constexpr Arg kQ{"q", "[n_tok_q][h_q][d]"};
inline constexpr Arg kK{"k", "[n_tok_k][h_kv][d]"};
inline constexpr Arg kV{"v", "[n_tok_k][h_kv][d]"};
inline constexpr Arg kBias{"bias", "[n_tok_q][n_tok_k], added to the scores of every head; -Infinity masks"};
inline constexpr Arg kUseBias{"use_bias", "false: bias is not looked at"};
inline constexpr Arg kTokQ{"n_tok_q", "queries"};
inline constexpr Arg kTokK{"n_tok_k", "keys"};
inline constexpr Arg kHeadsQ{"h_q", "query heads, a multiple of h_kv"};
inline constexpr Arg kHeadsKv{"h_kv", "key-value heads"};
inline constexpr Arg kDim{"d", "values a head"};
inline constexpr Arg kScale{"scale", "multiplies q . k; finite and above 0, usually 1 / sqrt(d)"};

// exp, log, cos, sin and pow are the C library's, which may round differently from machine to machine.
inline constexpr Capabilities kLibm{.determinism = Determinism::kBitExactPerVariant};

}  // namespace krt::attnk::args
