#pragma once
// quant: the GGUF block formats as a table, decoding and encoding by name.
//
// decode(type, data) -> values: f32, exactly as the format's own header defines them, for a whole number of blocks.
// encode(type, values) -> data: the bytes of a whole number of blocks (encode.h: whose bytes), the same for every
// thread count. What they decode to is finite: a value that is not, and one that the format cannot hold, is
// kValueOutOfRange.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "modules/quant/block.h"
#include "runtime/core/value.h"
#include "runtime/exec/context.h"
#include "runtime/registry/declaration.h"

namespace krt::quant {

enum QuantStatus : std::int64_t {
  kOk = 620,
  kEmptyDimension = 621,
  kDimensionTooLarge = 622,
  kCodeOutOfRange = 623,
  kUnknownFormat = 624,
  kNoMatVec = 625,
  kDataLengthMismatch = 626,
  kOperandLengthMismatch = 627,
  kColumnsNotBlocks = 628,
  kNoEncoder = 629,
  kValueOutOfRange = 630,
};

inline constexpr std::array<StatusEntry, 11> kStatuses{{
    {kOk, "quant_ok", "the kernel ran and every element of the output is defined"},
    {kEmptyDimension, "quant_empty_dimension", "a required dimension was < 1"},
    {kDimensionTooLarge, "quant_dimension_too_large", "a dimension exceeds QUANT_MAX_DIM (1 << 24)"},
    {kCodeOutOfRange, "quant_code_out_of_range", "not one of these codes"},
    {kUnknownFormat, "quant_unknown_format", "no format has that name; quant.formats lists them"},
    {kNoMatVec, "quant_no_matvec", "the format can be read but is no weight format"},
    {kDataLengthMismatch, "quant_data_length_mismatch",
     "the bytes are not what the dimensions ask for, or no whole number of blocks; nor are the values to encode"},
    {kOperandLengthMismatch, "quant_operand_length_mismatch", "x is not as long as the dimensions ask for"},
    {kColumnsNotBlocks, "quant_columns_not_blocks", "the columns are no whole number of the format's blocks"},
    {kNoEncoder, "quant_no_encoder", "the format can be decoded but not encoded"},
    {kValueOutOfRange, "quant_value_out_of_range", "a value is NaN, infinite or too large for the format"},
}};
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 24;

struct Format {
  BlockInfo info;
  // Decodes `count` consecutive blocks; null for a format that is only listed.
  void (*decode)(const std::uint8_t* blocks, std::size_t count, float* out);
  // Encodes `count` blocks' values; null where krt has no encoder. The index of the first value that the format cannot
  // hold, at whose block it stops, else the number of values.
  std::size_t (*encode)(const float* values, std::size_t count, std::uint8_t* blocks);
  bool weights;       // a mat-vec serves it
  std::size_t index;  // in WeightFormats, where `weights`
};

// All that krt knows of, by GGUF type id; Q8_1 and Q8_K are listed without a decoder.
std::span<const Format> formats();
const Format* format_of(std::uint32_t type);        // null: unknown to krt, or removed from GGUF
const Format* format_named(std::string_view name);  // "Q4_K"; null: unknown

std::string_view quant_status_name(std::int64_t code);
List format_list();

struct DecodeResult {
  std::vector<float> values;
  std::int64_t n;
  std::int64_t status;
  static constexpr std::array kFields{"values", "n", "status"};
};
DecodeResult decode(std::string_view type, std::span<const std::uint8_t> data);

struct EncodeResult {
  Tensor data;     // u8
  std::int64_t n;  // values
  std::int64_t status;
  static constexpr std::array kFields{"data", "n", "status"};
};
EncodeResult encode(Context& context, std::string_view type, std::span<const float> values);

// Both, split over the arena: a whole number of blocks from and to memory of the right size. Nothing is checked but the
// values to encode: the index of the first that the format cannot hold, else their number.
void decode_blocks(Context& context, const Format& format, std::span<const std::uint8_t> data, std::span<float> out);
std::size_t encode_blocks(Context& context, const Format& format, std::span<const float> values,
                          std::span<std::uint8_t> out);

}  // namespace krt::quant
