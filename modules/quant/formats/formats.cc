#include "modules/quant/formats/formats.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "modules/quant/formats/list.h"
#include "runtime/registry/module_builder.h"

namespace krt::quant {
namespace {

template <class F>
void decode_each(const std::uint8_t* blocks, std::size_t count, float* out) {
  for (std::size_t b = 0; b < count; ++b) F::decode(blocks + b * F::kInfo.bytes, out + b * F::kInfo.values);
}

// No format holds more: its scale is an f16 times less than 2^13. It also keeps sums of squares finite.
template <class F>
constexpr float kLargest = F::kInfo.values == 1 ? std::numeric_limits<float>::max() : 0x1p40F;

template <class F>
std::size_t encode_each(const float* values, std::size_t count, std::uint8_t* blocks) {
  constexpr auto kValues = static_cast<std::size_t>(F::kInfo.values);
  std::array<float, kValues> held;
  for (std::size_t b = 0; b < count; ++b) {
    const float* x = values + b * kValues;
    std::uint8_t* block = blocks + b * static_cast<std::size_t>(F::kInfo.bytes);
    const auto misfit = [](float v) { return !(std::fabs(v) <= kLargest<F>); };
    if (const float* bad = std::find_if(x, x + kValues, misfit); bad != x + kValues)
      return static_cast<std::size_t>(bad - values);
    F::encode(x, block);
    F::decode(block, held.data());
    if (std::all_of(held.begin(), held.end(), [](float v) { return std::isfinite(v); })) continue;
    const auto smaller = [](float a, float b) { return std::fabs(a) < std::fabs(b); };
    return static_cast<std::size_t>(std::max_element(x, x + kValues, smaller) - values);  // it spoils the scale
  }
  return count * kValues;
}

template <class F>
constexpr auto encoder() {
  using Encoder = decltype(Format::encode);
  if constexpr (requires(const float* x, std::uint8_t* block) { F::encode(x, block); })
    return Encoder{encode_each<F>};
  else
    return Encoder{nullptr};
}

// Splits blocks over the arena. An encoder may take 0.2 us a value, so that 4096 of them are a checkpoint apart.
constexpr std::size_t kParallelMinValues = std::size_t{1} << 14U;
constexpr std::size_t kCheckpointValues = 4096;

template <class Body>  // body(first, count)
void for_blocks(Context& context, const Format& format, std::size_t blocks, const Body& body) {
  const auto values = static_cast<std::size_t>(format.info.values);
  const std::size_t parts =
      blocks * values < kParallelMinValues ? 1 : static_cast<std::size_t>(context.arena.threads());
  context.arena.parallel(parts, [&](std::size_t part) {
    const Range r = band(blocks, parts, part);
    for (std::size_t at = r.begin, step = kCheckpointValues / values; at < r.end; at += step) {
      context.checkpoint();
      body(at, std::min(step, r.end - at));
    }
  });
}

template <class... F>
void append(FormatList<F...>, bool weights, std::vector<Format>& table) {
  std::size_t index = 0;
  (table.push_back({F::kInfo, decode_each<F>, encoder<F>(), weights, index++}), ...);
}

std::vector<Format> build_table() {
  std::vector<Format> table;
  append(WeightFormats{}, true, table);
  append(PlainFormats{}, false, table);
  // Formats of activations: they stand in files only by mistake, and are named rather than called unknown.
  table.push_back({{"Q8_1", 9, 32, 36}, nullptr, nullptr, false, 0});
  table.push_back({{"Q8_K", 15, 256, 292}, nullptr, nullptr, false, 0});
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
                          {"encodes", f.encode != nullptr},
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

void decode_blocks(Context& context, const Format& format, std::span<const std::uint8_t> data, std::span<float> out) {
  const auto bytes = static_cast<std::size_t>(format.info.bytes), values = static_cast<std::size_t>(format.info.values);
  for_blocks(context, format, data.size() / bytes, [&](std::size_t first, std::size_t count) {
    format.decode(data.data() + first * bytes, count, out.data() + first * values);
  });
}

std::size_t encode_blocks(Context& context, const Format& format, std::span<const float> values,
                          std::span<std::uint8_t> out) {
  const auto bytes = static_cast<std::size_t>(format.info.bytes), width = static_cast<std::size_t>(format.info.values);
  std::atomic<std::size_t> bad = values.size();
  for_blocks(context, format, values.size() / width, [&](std::size_t first, std::size_t count) {
    const std::size_t held = format.encode(values.data() + first * width, count, out.data() + first * bytes);
    if (held == count * width) return;
    std::size_t before = bad;
    while (first * width + held < before && !bad.compare_exchange_weak(before, first * width + held)) {
    }
  });
  return bad;
}

EncodeResult encode(Context& context, std::string_view type, std::span<const float> values) {
  const auto refused = [](std::int64_t status) {
    return EncodeResult{Tensor::own(std::vector<std::uint8_t>()), 0, status};
  };
  const Format* format = format_named(type);
  if (format == nullptr) return refused(kUnknownFormat);
  if (format->encode == nullptr) return refused(kNoEncoder);
  if (values.empty()) return refused(kEmptyDimension);
  const auto width = static_cast<std::size_t>(format->info.values);
  if (values.size() % width != 0) return refused(kDataLengthMismatch);
  std::vector<std::uint8_t> data(values.size() / width * static_cast<std::size_t>(format->info.bytes));
  if (encode_blocks(context, *format, values, data) != values.size()) return refused(kValueOutOfRange);
  return {Tensor::own(std::move(data)), std::ssize(values), kOk};
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
  m.function<encode>("encode", "The bytes of values in a block format",
                     {{"type", "a format's name, such as Q4_K; quant.formats says which encode"},
                      {"values", "a whole number of the format's blocks, each finite"}})
      .details(
          "Bytes of F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0 are those of the gguf package; the K formats minimise "
          "the squared error")
      .statuses(kStatuses)
      .caps({.determinism = Determinism::kBitExact})
      .example(R"(["F16",[1,-2,0.5,65504]])");
}

}  // namespace krt::quant
