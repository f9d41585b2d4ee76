#include "runtime/core/dtype.h"

#include <array>

namespace krt {
namespace {

// Indexed by DType.
constexpr std::array<DTypeInfo, 9> kInfos{{
    {"f64", 1, 8},
    {"f32", 1, 4},
    {"f16", 1, 2},
    {"bf16", 1, 2},
    {"i8", 1, 1},
    {"u8", 1, 1},
    {"i16", 1, 2},
    {"i32", 1, 4},
    {"i64", 1, 8},
}};
static_assert(kInfos.size() == static_cast<std::size_t>(DType::kI64) + 1);

}  // namespace

const DTypeInfo& info_of(DType dtype) { return kInfos[static_cast<std::size_t>(dtype)]; }

std::optional<DType> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < kInfos.size(); ++i)
    if (kInfos[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace krt
