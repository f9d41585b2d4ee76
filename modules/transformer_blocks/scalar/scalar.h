#pragma once
// transformer_blocks: the scalar formulas of a transformer layer, one f64 at a time. Names are Algenta's.
//
// Bits     every operation is one IEEE operation in the order written

namespace krt::transformer_blocks {

inline double residual_connection(double x, double sublayer_out) { return x + sublayer_out; }

}  // namespace krt::transformer_blocks
