#include "engine/gguf/quantize.h"

#include <algorithm>
#include <array>

#include "engine/gguf/output_file.h"
#include "engine/gguf/writer.h"

namespace krt::engine {
namespace {

using quant::Format;

// What a format gives way to, and the number that general.file_type has for a file of it (LlamaFileType of the `gguf`
// package: the "S" mixture for a K format that has several).
struct Named {
  std::string_view name, fallback;
  std::uint32_t file_type;
};
constexpr std::array kNamed{
    Named{"F32", "", 0},       Named{"F16", "", 1},       Named{"BF16", "", 32},     Named{"Q4_0", "F16", 2},
    Named{"Q4_1", "F16", 3},   Named{"Q5_0", "F16", 8},   Named{"Q5_1", "F16", 9},   Named{"Q8_0", "F16", 7},
    Named{"Q2_K", "Q4_0", 10}, Named{"Q3_K", "Q4_0", 11}, Named{"Q4_K", "Q5_0", 14}, Named{"Q5_K", "Q5_1", 16},
    Named{"Q6_K", "Q8_0", 18},
};
constexpr std::uint32_t kQuantizationVersion = 2;  // of the block layouts: the only one that is in use

const Named& named(const Format& format) {
  return *std::find_if(kNamed.begin(), kNamed.end(), [&](const Named& n) { return n.name == format.info.name; });
}

const Format* fitting(const Format* format, std::int64_t row) {
  while (row % format->info.values != 0) format = quant::format_named(named(*format).fallback);
  return format;
}

bool is_matrix(const GgufTensor& t) { return t.dims.size() == 2 && t.name.ends_with(".weight"); }

const Format* wanted_for(const GgufTensor& t, const QuantizeOptions& o) {
  if (!is_matrix(t)) return t.format;
  return t.name == "token_embd.weight" ? o.embedding : t.name == "output.weight" ? o.output : o.weights;
}

// Keys that are set anew, or that describe the source's files and not the model.
bool is_replaced(const MetaValue& v, std::uint64_t alignment) {
  return v.key == "general.file_type" || v.key == "general.quantization_version" || v.key.starts_with("split.") ||
         (v.key == "general.alignment" && alignment != 32);  // the writer adds it
}

GgufWriter header_of(const GgufFile& file, const std::vector<PlannedTensor>& plan, const Format& weights) {
  const Gguf& from = file.header();
  GgufWriter writer(static_cast<std::uint32_t>(from.alignment()));
  for (const MetaValue& v : from.metadata())
    if (!is_replaced(v, from.alignment())) writer.copy(v);
  writer.add("general.file_type", named(weights).file_type);
  writer.add("general.quantization_version", kQuantizationVersion);
  for (const PlannedTensor& t : plan) writer.tensor(t.from->name, t.to->info.type, t.from->dims, t.bytes());
  return writer;
}

// Values that are decoded and encoded at a time: 16 MiB of f32, a whole number of every format's blocks.
constexpr std::size_t kPiece = std::size_t{1} << 22U;

class Transcoder {
 public:
  Transcoder(Context& context, OutputFile& out) : context_(context), out_(out) {}

  Status write(const PlannedTensor& t) {
    if (t.to == t.from->format) return out_.write(t.from->data);
    const auto elements = static_cast<std::size_t>(t.from->elements());
    for (std::size_t at = 0; at < elements; at += kPiece)
      if (Status failed = write_piece(t, at, std::min(kPiece, elements - at)); !failed.ok()) return failed;
    return {};
  }

 private:
  static std::size_t bytes_of(const Format& format, std::size_t values) {
    return values / static_cast<std::size_t>(format.info.values) * static_cast<std::size_t>(format.info.bytes);
  }

  Status write_piece(const PlannedTensor& t, std::size_t at, std::size_t count) {
    const Format &from = *t.from->format, &to = *t.to;
    values_.resize(count);
    encoded_.resize(bytes_of(to, count));
    quant::decode_blocks(context_, from, t.from->data.subspan(bytes_of(from, at), bytes_of(from, count)), values_);
    const std::size_t held = quant::encode_blocks(context_, to, values_, encoded_);
    if (held != count)
      return invalid("tensor " + quoted(t.from->name) + ": value " + std::to_string(at + held) + " is " +
                     std::to_string(values_[held]) + ", which " + std::string(to.info.name) + " cannot hold");
    return out_.write(encoded_);
  }

  Context& context_;
  OutputFile& out_;
  std::vector<float> values_;
  std::vector<std::uint8_t> encoded_;
};

}  // namespace

std::uint64_t PlannedTensor::bytes() const {
  return static_cast<std::uint64_t>(from->elements() / to->info.values * to->info.bytes);
}

Result<std::vector<PlannedTensor>> plan_quantize(const GgufFile& file, const QuantizeOptions& options) {
  std::vector<PlannedTensor> plan;
  for (const GgufTensor* t : file.tensors()) {
    const Format* wanted = wanted_for(*t, options);
    const Format* to = wanted == t->format ? wanted : fitting(wanted, t->dims[0]);
    if (to != t->format && t->format->decode == nullptr)
      return invalid("tensor " + quoted(t->name) + ": krt has no decoder for " + std::string(t->format->info.name));
    plan.push_back({t, to, wanted});
  }
  return plan;
}

Result<std::uint64_t> quantize(Context& context, const GgufFile& file, const std::vector<PlannedTensor>& plan,
                               const quant::Format& weights, const std::string& path, bool overwrite,
                               const std::function<void(std::size_t index)>& progress) {
  Result<OutputFile> out = OutputFile::create(path, overwrite);
  if (!out.ok()) return out.status();
  const GgufWriter writer = header_of(file, plan, weights);
  if (Status failed = out->write(writer.header()); !failed.ok()) return failed;
  Transcoder transcoder(context, *out);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (progress) progress(i);
    context.checkpoint();
    Status failed = transcoder.write(plan[i]);
    if (failed.ok()) failed = out->write_zeros(writer.padded(out->size()) - out->size());
    if (!failed.ok()) return failed;
  }
  if (Status damaged = file.intact(); !damaged.ok()) return damaged;
  if (Status failed = out->commit(); !failed.ok()) return failed;
  return out->size();
}

}  // namespace krt::engine
