#pragma once
// quant: the GGUF block formats as a table, and decoding by name.
//
// decode(type, data) -> values: f32, exactly as the format's own header defines them, for a whole number of blocks.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "modules/quant/block.h"
#include "runtime/core/value.h"
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
};

inline constexpr std::array<StatusEntry, 10> kStatuses{{
    {kOk, "quant_ok", "the kernel ran and every element of the output is defined"},
    {kEmptyDimension, "quant_empty_dimension", "a required dimension was < 1"},
    {kDimensionTooLarge, "quant_dimension_too_large", "a dimension exceeds QUANT_MAX_DIM (1 << 24)"},
    {kCodeOutOfRange, "quant_code_out_of_range", "not one of these codes"},
    {kUnknownFormat, "quant_unknown_format", "no format has that name; quant.formats lists them"},
    {kNoMatVec, "quant_no_matvec", "the format can be read but is no weight format"},
    {kDataLengthMismatch, "quant_data_length_mismatch",
     "the bytes are not what the dimensions ask for, or no whole number of blocks"},
    {kOperandLengthMismatch, "quant_operand_length_mismatch", "x is not as long as the dimensions ask for"},
    {kColumnsNotBlocks, "quant_columns_not_blocks", "the columns are no whole number of the format's blocks"},
    {kNoEncoder, "quant_no_encoder", "the format can be decoded but not encoded"},
}};
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 24;

struct Format {
  BlockInfo info;
  // Decodes `count` consecutive blocks; null for a format that is only listed.
  void (*decode)(const std::uint8_t* blocks, std::size_t count, float* out);
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

}  // namespace krt::quant
