#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/codec/json.h"
#include "runtime/core/half.h"
#include "runtime/core/utf8.h"

namespace krt {
namespace {

class Writer {
 public:
  Writer(NonFinite non_finite, std::size_t max_bytes)
      : quote_(non_finite == NonFinite::kStrings ? "\"" : ""), max_bytes_(max_bytes) {}
  [[nodiscard]] bool is_full() const { return out_.size() > max_bytes_; }
  std::string take() { return std::move(out_); }

  void write(const Value& value) {
    switch (value.kind()) {
      case Kind::kNull: out_ += "null"; return;
      case Kind::kBool: out_ += *value.get_if<bool>() ? "true" : "false"; return;
      case Kind::kInt: number(*value.get_if<std::int64_t>()); return;
      case Kind::kFloat: number(*value.get_if<double>()); return;
      case Kind::kString: string(*value.get_if<std::string>()); return;
      case Kind::kTensor: tensor(*value.get_if<Tensor>()); return;
      case Kind::kList: list(*value.get_if<List>()); return;
      case Kind::kDict: dict(*value.get_if<Dict>()); return;
      case Kind::kObject: return write(Value(Dict{{"$object", (*value.get_if<ObjectRef>())->type()}}));
      case Kind::kHandle: out_ += "{\"$handle\":\"" + handle_text(*value.get_if<Handle>()) + "\"}"; return;
    }
  }

 private:
  template <class T>
  void number(T x) {
    if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
      number(to_f32(x));
    } else if constexpr (std::is_integral_v<T>) {
      char buffer[24];
      out_.append(buffer, std::to_chars(buffer, std::end(buffer), static_cast<std::int64_t>(x)).ptr);
    } else if (std::isfinite(x)) {
      char buffer[32];  // 24 bytes at most, and ".0"
      char* end = std::to_chars(buffer, std::end(buffer), x).ptr;
      if (std::none_of(buffer, end, [](char c) { return c == '.' || c == 'e'; })) end = std::copy_n(".0", 2, end);
      out_.append(buffer, end);
    } else {
      out_ += quote_;
      out_ += std::isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity";
      out_ += quote_;
    }
  }

  void string(std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    out_ += '"';
    while (!text.empty()) {
      const std::size_t length = utf8_sequence_length(text);
      const char c = text.front();
      if (length == 0) {
        out_ += "\\ufffd";  // what is not UTF-8 cannot be written
      } else if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out_ += "\\u00";
        out_ += kHex[static_cast<unsigned char>(c) >> 4U];
        out_ += kHex[static_cast<unsigned char>(c) & 15U];
      } else {
        out_ += text.substr(0, length);
      }
      text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    out_ += '"';
  }

  // `count` things between brackets, separated by commas.
  template <class WriteOne>
  void sequence(char open, char close, std::size_t count, const WriteOne& one) {
    out_ += open;
    for (std::size_t i = 0; i < count && !is_full(); ++i) {
      if (i != 0) out_ += ',';
      one(i);
    }
    out_ += close;
  }

  void list(const List& values) {
    sequence('[', ']', values.size(), [&](std::size_t i) { write(values[i]); });
  }

  void dict(const Dict& members) {
    sequence('{', '}', members.size(), [&](std::size_t i) {
      string(members[i].first);
      out_ += ':';
      write(members[i].second);
    });
  }

  void tensor(const Tensor& t) {
    switch (t.dtype()) {
      case DType::kF64: return nested(t.shape(), t.as<double>());
      case DType::kF32: return nested(t.shape(), t.as<float>());
      case DType::kF16: return nested(t.shape(), t.as<F16>());
      case DType::kBF16: return nested(t.shape(), t.as<BF16>());
      case DType::kI8: return nested(t.shape(), t.as<std::int8_t>());
      case DType::kU8: return nested(t.shape(), t.as<std::uint8_t>());
      case DType::kI16: return nested(t.shape(), t.as<std::int16_t>());
      case DType::kI32: return nested(t.shape(), t.as<std::int32_t>());
      case DType::kI64: return nested(t.shape(), t.as<std::int64_t>());
    }
  }

  template <class E>
  void nested(const Shape& shape, std::span<const E> values) {
    // An empty tensor is [] whatever its shape: [2^40, 0] must not write 2^40 brackets.
    if (values.empty())
      out_ += "[]";
    else
      rows(shape.dims(), values);
  }
  template <class E>
  void rows(std::span<const std::int64_t> dims, std::span<const E> values) {
    if (dims.empty()) return number(values.front());
    const auto count = static_cast<std::size_t>(dims.front());
    const std::size_t row = values.size() / count;
    sequence('[', ']', count, [&](std::size_t i) { rows(dims.subspan(1), values.subspan(i * row, row)); });
  }

  const std::string_view quote_;
  const std::size_t max_bytes_;
  std::string out_;
};

}  // namespace

std::string to_json(const Value& value, NonFinite non_finite) {
  return std::move(to_json_within(SIZE_MAX, value, non_finite)).value();
}

Result<std::string> to_json_within(std::size_t max_bytes, const Value& value, NonFinite non_finite) {
  Writer writer(non_finite, max_bytes);
  writer.write(value);
  if (writer.is_full())
    return Status(Reason::kResourceExhausted,
                  "as JSON it is over the limit of " + std::to_string(max_bytes) + " bytes");
  return writer.take();
}

std::string to_json(const ExecuteResult& r) {
  Dict dict{
      {"module", r.module},           {"function", r.function},
      {"request_id", r.request_id},   {"success", r.success()},
      {"result", r.result},           {"status", r.status},
      {"status_name", r.status_name}, {"error_code", r.success() ? std::string_view() : name_of(r.error.reason())},
      {"error", r.error.message()},   {"latency_ms", r.latency_ms},
      {"engine_used", r.engine_used}};
  if (!r.mutated.empty()) dict.emplace_back("mutated", r.mutated);
  return to_json(Value(std::move(dict)));
}

}  // namespace krt
