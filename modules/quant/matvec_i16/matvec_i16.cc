#include "modules/quant/matvec_i16/matvec_i16.h"

#include "modules/quant/formats/formats.h"
#include "modules/quant/matvec/kernels.h"
#include "modules/quant/matvec_i16/kernels.h"
#include "runtime/registry/module_builder.h"

namespace krt::quant {

void RoundedColumns::resize(std::size_t n, std::size_t cols) {
  n_ = n;
  cols_ = cols;
  const auto fit = [](auto& values, std::size_t size) {
    size += kLanes;  // whole vectors are read
    if (values.size() < size) values.resize(size);
  };
  fit(q_, n * cols);
  fit(scales16_, n * (cols / 16));
  fit(sums16_, n * (cols / 16));
  fit(scales32_, n * (cols / 32));
  fit(sums32_, n * (cols / 32));
}

void RoundedColumns::round(Range range, const float* x) {
  static RoundColumn* const round_column = variants_here(round_column_variants()).front().run;
  for (std::size_t j = range.begin; j < range.end; ++j)
    round_column(x + j * cols_, cols_, q_.data() + j * cols_, scales32_.data() + j * (cols_ / 32),
                 sums32_.data() + j * (cols_ / 32), scales16_.data() + j * (cols_ / 16),
                 sums16_.data() + j * (cols_ / 16));
}

MatVecResult matvec_i16(Context& context, std::string_view type, std::span<const std::uint8_t> data,
                        std::span<const float> x, std::int64_t rows, std::int64_t cols) {
  const Format* format = format_named(type);
  std::int64_t status = check_matvec(format, data, x, rows, cols);
  if (status == kOk && matvec_i16_variants(format->index).empty()) status = kNoMatVec;
  if (status != kOk) return {{}, 0, status};
  const Variant<MatVecI16>& variant = pick(context, matvec_i16_variants(format->index));
  RoundedColumns rounded;
  rounded.resize(1, x.size());
  rounded.round({0, 1}, x.data());
  return for_row_bands(context, data, rows, cols, [&](Range r, const std::uint8_t* weights, float* y) {
    variant.run(weights, r.end - r.begin, rounded, y, 1);
  });
}

void register_matvec_i16(Registry& registry) {
  ModuleBuilder m(registry, "quant", "GGUF block formats: decoding, encoding and products with weights in them");
  m.function<matvec_i16>("matvec_i16",
                         "Product of a weight matrix in a block format of integers and a vector, rounded to 16 bits",
                         {{"type", "a weight format of integers and scales, such as Q4_K"},
                          {"data", "bytes of the rows x cols weights, row-major"},
                          {"x", "exactly cols values"},
                          {"rows", "rows of the matrix, 1 to 2^24"},
                          {"cols", "columns, 1 to 2^24, a whole number of blocks"}})
      .statuses(kStatuses)
      .caps({.determinism = Determinism::kBitExact})
      .variants(infos(matvec_i16_variants(format_named("Q8_0")->index)), "rows x cols")
      .example(
          R"(["Q8_0",[0,60,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32],[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],1,32])");
}

}  // namespace krt::quant
