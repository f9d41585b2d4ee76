#include "modules/llmk/contract/contract.h"

#include <gtest/gtest.h>

#include <set>

#include "modules/builtin.h"
#include "runtime/testing/value_check.h"

namespace krt::llmk {
namespace {

using testing::ValueCheck;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;
constexpr std::int64_t kLeast = INT64_MIN, kGreatest = INT64_MAX;

TEST(LlmkContract, DocumentedExamplesByName) {
  Runtime runtime(builtin_registry(), {.threads = 1});
  const auto result = [&](const char* function, List args) {
    return runtime.execute("llmk.contract", function, std::move(args)).result;
  };
  EXPECT_EQ(*result("llmk_residual_dims_check", {6, 6, 6}).get_if<std::int64_t>(), 560);
  EXPECT_EQ(*result("llmk_residual_dims_check", {6, 2, 6}).get_if<std::int64_t>(), 562);
  EXPECT_EQ(*result("llmk_status_name", {562}).get_if<std::string>(), "llmk_a_length_mismatch");
}

TEST(LlmkContract, NamesEveryCodeAndAnyNumber) {
  ValueCheck check("llmk.contract.llmk_status_name");
  const char* names[] = {"llmk_ok",
                         "llmk_empty_dimension",
                         "llmk_a_length_mismatch",
                         "llmk_b_length_mismatch",
                         "llmk_dimension_too_large",
                         "llmk_code_out_of_range",
                         "llmk_cache_length_mismatch",
                         "llmk_new_length_mismatch",
                         "llmk_logits_length_mismatch",
                         "llmk_gemv_a_length_mismatch",
                         "llmk_gemv_x_length_mismatch",
                         "llmk_cache_capacity_exceeded"};
  for (std::int64_t code = 560; code <= 571; ++code) EXPECT_EQ(llmk_status_name(code), names[code - 560]);
  for (const std::int64_t code : {std::int64_t{559}, std::int64_t{572}, std::int64_t{0}, kLeast, kGreatest})
    EXPECT_EQ(llmk_status_name(code), "llmk_code_out_of_range");
}

TEST(LlmkContract, ResidualDims) {
  ValueCheck check("llmk.contract.llmk_residual_dims_check");
  const std::int64_t rows[][4] = {
      {6, 6, 6, 560},           {1, 1, 1, 560},         {0, 6, 6, 561},
      {-1, -1, -1, 561},        {kLeast, 6, 6, 561},    {kMaxDim, kMaxDim, 6, 563},
      {kMaxDim + 1, 6, 6, 564}, {kGreatest, 6, 6, 564}, {6, 2, 6, 562},
      {6, 6, 7, 563},           {6, 5, 7, 562},         {kMaxDim, kMaxDim, kMaxDim, 560},
      {6, kGreatest, 6, 562},   {6, 6, kLeast, 563},
  };
  for (const auto& [n, a, b, want] : rows)
    EXPECT_EQ(llmk_residual_dims_check(n, a, b), want) << n << ' ' << a << ' ' << b;
}

TEST(LlmkContract, KvAppendDims) {
  ValueCheck check("llmk.contract.llmk_kv_append_dims_check");
  const std::int64_t rows[][5] = {
      {6, 6, 3, 3, 560},
      {0, 0, 3, 3, 560},  // prefill's own empty cache
      {6, 6, 0, 0, 561},
      {-1, 6, 3, 3, 561},
      {kLeast, 6, 3, 3, 561},
      {kMaxDim + 1, 6, 0, 3, 561},  // emptiness comes before size
      {kMaxDim + 1, kMaxDim + 1, 3, 3, 564},
      {6, 6, kMaxDim + 1, 3, 564},
      {kMaxDim, kMaxDim, kMaxDim, kMaxDim, 560},  // the sum of two allowed dimensions is allowed
      {6, 5, 3, 2, 566},
      {6, 6, 3, 2, 567},
      {6, kGreatest, 3, 3, 566},
  };
  for (const auto& [len, real, n_new, real_new, want] : rows)
    EXPECT_EQ(llmk_kv_append_dims_check(len, real, n_new, real_new), want) << len << ' ' << real << ' ' << n_new;
}

TEST(LlmkContract, ArgmaxDims) {
  ValueCheck check("llmk.contract.llmk_argmax_dims_check");
  const std::int64_t rows[][3] = {
      {3, 3, 560}, {0, 0, 561}, {-3, 3, 561},         {kMaxDim + 1, 3, 564}, {kGreatest, kGreatest, 564},
      {3, 2, 568}, {3, 4, 568}, {151936, 151936, 560}};
  for (const auto& [n, len, want] : rows) EXPECT_EQ(llmk_argmax_dims_check(n, len), want) << n << ' ' << len;
}

TEST(LlmkContract, GemvDims) {
  ValueCheck check("llmk.contract.llmk_gemv_dims_check");
  const std::int64_t rows[][5] = {
      {2, 3, 6, 2, 560},
      {0, 3, 0, 0, 561},
      {2, 0, 0, 2, 561},
      {-2, -3, 6, 2, 561},
      {kMaxDim + 1, 0, 6, 2, 561},
      {kMaxDim + 1, 3, 6, 2, 564},
      {2, kHuge, 6, 2, 564},
      {kHuge, kHuge, 0, kHuge, 564},        // m * n would be 2^124
      {kMaxDim, kMaxDim, 0, kMaxDim, 569},  // 2^48 does not wrap to 0
      {2, 3, 5, 2, 569},
      {2, 3, 6, 3, 570},
      {2, 3, 5, 3, 569},
  };
  for (const auto& [m, n, a, x, want] : rows) EXPECT_EQ(llmk_gemv_dims_check(m, n, a, x), want) << m << ' ' << n;
}

TEST(LlmkContract, CodesAndNamesAreUnique) {
  std::set<std::int64_t> codes;
  std::set<std::string_view> names;
  for (const StatusEntry& entry : kStatuses) {
    EXPECT_TRUE(codes.insert(entry.code).second);
    EXPECT_TRUE(names.insert(entry.name).second);
    EXPECT_FALSE(entry.meaning.empty());
    EXPECT_TRUE(entry.code >= 560 && entry.code <= 579);
  }
}

}  // namespace
}  // namespace krt::llmk
