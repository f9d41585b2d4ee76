#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/quant/matvec/matvec_simd.cc"
#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"
#include "modules/quant/formats/list.h"
#include "modules/quant/matvec/matvec.h"

// Plain loops, vectorised by the compiler in the widest registers of each target.
HWY_BEFORE_NAMESPACE();
namespace krt::quant::HWY_NAMESPACE {
namespace {
#include "modules/quant/matvec/matvec_loop.h"
}
MatVec* matvec_form(std::size_t index) { return matvec_for(index); }
}  // namespace krt::quant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace krt::quant {
namespace plain {
namespace {
#include "modules/quant/matvec/matvec_loop.h"
}
}  // namespace plain

namespace {

using Select = MatVec*(std::size_t);

std::vector<Variant<MatVec>> variants_of(std::size_t index) {
  const SimdForms<Select> selects KRT_SIMD_FORMS(matvec_form);
  SimdForms<MatVec> forms{};
  for (std::size_t i = 0; i < forms.size(); ++i)
    if (selects[i] != nullptr) forms[i] = selects[i](index);
  return simd_variants<MatVec>(forms, plain::matvec_for(index));
}

}  // namespace

const std::vector<Variant<MatVec>>& matvec_variants(std::size_t index) {
  static const auto lists = [] {
    std::vector<std::vector<Variant<MatVec>>> all;
    for (std::size_t i = 0; i < WeightFormats::kSize; ++i) all.push_back(variants_of(i));
    return all;
  }();
  return lists[index];
}

}  // namespace krt::quant
#endif
