#include "modules/quant/formats/formats.h"

#include <algorithm>

#include "modules/quant/formats/list.h"
#include "runtime/registry/module_builder.h"

namespace krt::quant {
namespace {

template <class F>
void decode_blocks(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b) F::decode(blocks + b * F::kInfo.bytes, out + b * F::kInfo.values);
}

template <class... F>
void append(FormatList<F...>, bool weights, std::vector<Format>& table) {
  std::size_t index = 0;
  (table.push_back({F::kInfo, decode_blocks<F>, weights, index++}), ...);
}

std::vector<Format> build_table() {
  std::vector<Format> table;
  append(WeightFormats{}, true, table);
  append(PlainFormats{}, false, table);
  // Formats of activations: they stand in files only by mistake, and are named rather than called unknown.
  table.push_back({{"Q8_1", 9, 32, 36}, nullptr, false, 0});
  table.push_back({{"Q8_K", 15, 256, 292}, nullptr, false, 0});
  std::sort(table.begin(), table.end(), [](const Format& a, const Format& b) { return a.info.type < b.info.type; });
  return table;
}

}  // namespace

std::span<const Format> formats() {
  static const std::vector<Format> table = build_table();
  return table;
}

const Format* format_of(std::uint32_t type) {
  for (const Format& f : formats())
    if (f.info.type == type) return &f;
  return nullptr;
}

const Format* format_named(std::string_view name) {
  for (const Format& f : formats())
    if (f.info.name == name) return &f;
  return nullptr;
}

std::string_view quant_status_name(std::int64_t code) {
  return status_name(kStatuses, code, "quant_code_out_of_range");
}

List format_list() {
  List out;
  for (const Format& f : formats())
    out.emplace_back(Dict{{"name", f.info.name},
                          {"type", std::int64_t{f.info.type}},
                          {"block_values", std::int64_t{f.info.values}},
                          {"block_bytes", std::int64_t{f.info.bytes}},
                          {"decodes", f.decode != nullptr},
                          {"matvec", f.weights}});
  return out;
}

DecodeResult decode(std::string_view type, std::span<const std::uint8_t> data) {
  const Format* format = format_named(type);
  if (format == nullptr || format->decode == nullptr) return {{}, 0, kUnknownFormat};
  if (data.empty()) return {{}, 0, kEmptyDimension};
  const auto bytes = static_cast<std::size_t>(format->info.bytes);
  if (data.size() % bytes != 0) return {{}, 0, kDataLengthMismatch};
  const std::size_t blocks = data.size() / bytes;
  std::vector<float> values(blocks * static_cast<std::size_t>(format->info.values));
  format->decode(data.data(), blocks, values.data());
  const auto n = std::ssize(values);
  return {std::move(values), n, kOk};
}

void register_formats(Registry& registry) {
  ModuleBuilder m(registry, "quant", "GGUF block formats: decoding, encoding and products with weights in them");
  m.function<format_list>("formats",
                          "The block formats: name, GGUF type id, values and bytes a block, what krt can do with it")
      .example("[]");
  m.function<quant_status_name>("status_name", "The name of a status code of this family",
                                {{"code", "a status; any other number is quant_code_out_of_range"}})
      .example("[620]");
  m.function<decode>(
       "decode", "The f32 values of blocks",
       {{"type", "a format's name, such as Q4_K"}, {"data", "bytes, a whole number of the format's blocks"}})
      .statuses(kStatuses)
      .example(
          R"(["Q8_0",[0,60,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32]])");
}

}  // namespace krt::quant
