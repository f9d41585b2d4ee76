#include "modules/quant/matvec/matvec.h"

#include "modules/quant/formats/formats.h"
#include "modules/quant/matvec/kernels.h"
#include "runtime/registry/module_builder.h"

namespace krt::quant {
std::int64_t check_matvec(const Format* format, std::span<const std::uint8_t> data, std::span<const float> x,
                          std::int64_t rows, std::int64_t cols) {
  if (format == nullptr) return kUnknownFormat;
  if (!format->weights) return kNoMatVec;
  if (rows < 1 || cols < 1) return kEmptyDimension;
  if (rows > kMaxDim || cols > kMaxDim) return kDimensionTooLarge;
  if (cols % format->info.values != 0) return kColumnsNotBlocks;
  if (std::ssize(data) != rows * (cols / format->info.values) * format->info.bytes)
    return kDataLengthMismatch;  // < 2^52
  return std::ssize(x) != cols ? kOperandLengthMismatch : kOk;
}

MatVecResult matvec(Context& context, std::string_view type, std::span<const std::uint8_t> data,
                    std::span<const float> x, std::int64_t rows, std::int64_t cols) {
  const Format* format = format_named(type);
  const std::int64_t status = check_matvec(format, data, x, rows, cols);
  if (status != kOk) return {{}, 0, status};
  const Variant<MatVec>& variant = pick(context, matvec_variants(format->index));
  return for_row_bands(context, data, rows, cols, [&](Range r, const std::uint8_t* weights, float* y) {
    variant.run(weights, r.end - r.begin, x.size(), x.data(), 1, y, 1);
  });
}

void register_matvec(Registry& registry) {
  ModuleBuilder m(registry, "quant", "GGUF block formats: decoding, encoding and products with weights in them");
  m.function<matvec>("matvec", "Product of a weight matrix in a block format and a vector",
                     {{"type", "a weight format's name, such as Q4_K"},
                      {"data", "bytes of the rows x cols weights, row-major"},
                      {"x", "exactly cols values"},
                      {"rows", "rows of the matrix, 1 to 2^24"},
                      {"cols", "columns, 1 to 2^24, a whole number of blocks"}})
      .statuses(kStatuses)
      .caps({.determinism = Determinism::kBitExact})
      .variants(infos(matvec_variants(0)), "rows x cols")
      .example(R"(["F16",[0,60,0,64,0,66,0,68],[1,1],2,2])");
}

}  // namespace krt::quant
