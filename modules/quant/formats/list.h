#pragma once
// Every block format, as lists of types: the one place that names them all. A format is added by its folder and a name
// here; the table, the mat-vec, their tests and the fuzzers follow.

#include "modules/quant/floats.h"
#include "modules/quant/iq1_m/iq1_m.h"
#include "modules/quant/iq1_s/iq1_s.h"
#include "modules/quant/iq2_s/iq2_s.h"
#include "modules/quant/iq2_xs/iq2_xs.h"
#include "modules/quant/iq2_xxs/iq2_xxs.h"
#include "modules/quant/iq3_s/iq3_s.h"
#include "modules/quant/iq3_xxs/iq3_xxs.h"
#include "modules/quant/iq4_nl/iq4_nl.h"
#include "modules/quant/iq4_xs/iq4_xs.h"
#include "modules/quant/mxfp4/mxfp4.h"
#include "modules/quant/nvfp4/nvfp4.h"
#include "modules/quant/q2_k/q2_k.h"
#include "modules/quant/q3_k/q3_k.h"
#include "modules/quant/q4_0/q4_0.h"
#include "modules/quant/q4_1/q4_1.h"
#include "modules/quant/q4_k/q4_k.h"
#include "modules/quant/q5_0/q5_0.h"
#include "modules/quant/q5_1/q5_1.h"
#include "modules/quant/q5_k/q5_k.h"
#include "modules/quant/q6_k/q6_k.h"
#include "modules/quant/q8_0/q8_0.h"
#include "modules/quant/tq1_0/tq1_0.h"
#include "modules/quant/tq2_0/tq2_0.h"

namespace krt::quant {

template <class... F>
struct FormatList {
  static constexpr std::size_t kSize = sizeof...(F);
};

// Formats that a mat-vec serves: weights may be in any of them.
using WeightFormats =
    FormatList<FormatF32, FormatF16, FormatBF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ1_S,
               IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ4_NL, IQ4_XS, TQ1_0, TQ2_0, MXFP4, NVFP4>;
// Formats that can be read but are no weights.
using PlainFormats = FormatList<FormatF64, FormatI8, FormatI16, FormatI32, FormatI64>;

}  // namespace krt::quant
