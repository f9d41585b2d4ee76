#include "modules/decode/contract/contract.h"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/testing/value_check.h"

namespace krt::decode {
namespace {

// The vocabulary as it is published: a code keeps its number and its name.
TEST(DecodeContract, CodesKeepTheirNames) {
  testing::ValueCheck check("decode.status_name");
  const std::pair<std::int64_t, std::string_view> rows[] = {
      {600, "decode_ok"},
      {601, "decode_empty_dimension"},
      {602, "decode_dimension_too_large"},
      {603, "decode_code_out_of_range"},
      {604, "decode_row_length_mismatch"},
      {605, "decode_operand_length_mismatch"},
      {606, "decode_position_length_mismatch"},
      {607, "decode_cache_length_mismatch"},
      {608, "decode_odd_head_dimension"},
      {609, "decode_head_count_mismatch"},
      {610, "decode_position_out_of_range"},
      {611, "decode_overlapping_buffers"},
      {612, "decode_parameter_out_of_range"},
      {613, "decode_token_out_of_range"},
      {614, "decode_nan_logit"},
      {615, "decode_infinite_logit"},
      {616, "decode_no_finite_logit"},
      {617, "decode_draw_undetermined"},
  };
  for (const auto& [code, name] : rows) EXPECT_EQ(decode_status_name(code), name) << code;
}

TEST(DecodeContract, AnyOtherNumberIsOutOfRange) {
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t code : {std::int64_t{599}, std::int64_t{620}, std::int64_t{0}, Limits::min(), Limits::max()})
    EXPECT_EQ(decode_status_name(code), "decode_code_out_of_range") << code;
}

}  // namespace
}  // namespace krt::decode
