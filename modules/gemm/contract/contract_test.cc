#include "modules/gemm/contract/contract.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "runtime/testing/value_check.h"

namespace krt::gemm {
namespace {

using testing::ValueCheck;

TEST(GemmContract, NamesEveryCodeAndAnyNumber) {
  ValueCheck check("gemm.contract.gemm_status_name");
  std::set<std::string_view> names;
  std::int64_t code = 320;
  for (const StatusEntry& entry : kStatuses) {
    EXPECT_EQ(entry.code, code++);
    EXPECT_EQ(gemm_status_name(entry.code), entry.name);
    EXPECT_TRUE(entry.name.starts_with("gemm_"));
    EXPECT_TRUE(names.insert(entry.name).second);
    EXPECT_FALSE(entry.meaning.empty());
  }
  EXPECT_EQ(code, 334);
  EXPECT_EQ(gemm_status_name(320), "gemm_ok");
  EXPECT_EQ(gemm_status_name(326), "gemm_x_length_mismatch");
  for (const std::int64_t other : {std::int64_t{319}, code, std::int64_t{560}, INT64_MIN, INT64_MAX})
    EXPECT_EQ(gemm_status_name(other), "gemm_code_out_of_range");
}

TEST(GemmContract, DimsCheck) {
  ValueCheck check("gemm.contract.gemm_dims_check");
  const std::int64_t rows[][6] = {
      {2, 3, 4, 8, 12, kOk},
      {1, 1, 1, 1, 1, kOk},
      {0, 3, 4, 0, 12, kEmptyDimension},
      {2, -3, 4, 8, 12, kEmptyDimension},
      {2, 3, INT64_MIN, 8, 12, kEmptyDimension},
      {kMaxDim + 1, 3, 0, 8, 12, kEmptyDimension},
      {2, 3, kMaxDim + 1, 8, 12, kDimensionTooLarge},
      {INT64_MAX, INT64_MAX, INT64_MAX, 8, 12, kDimensionTooLarge},
      {kMaxDim, kMaxDim, 1, kMaxDim, kMaxDim, kDimensionTooLarge},  // 2^48 cells
      {1 << 14, 1 << 14, 1, 1 << 14, 1 << 14, kOk},                 // 2^28 cells
      {1 << 14, (1 << 14) + 1, 1, 1 << 14, (1 << 14) + 1, kDimensionTooLarge},
      {2, 3, 4, 7, 11, kALengthMismatch},
      {2, 3, 4, 8, 13, kBLengthMismatch},
  };
  for (const auto& [m, n, k, a, b, want] : rows)
    EXPECT_EQ(gemm_dims_check(m, n, k, a, b), want) << m << ' ' << n << ' ' << k;
}

TEST(GemmContract, ScalarsAreFinite) {
  ValueCheck check("gemm.contract.gemm_scalars_ok");
  EXPECT_TRUE(gemm_scalars_ok(1, 0));
  EXPECT_TRUE(gemm_scalars_ok(-1e308, 5e-324));
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_FALSE(gemm_scalars_ok(bad, 0));
    EXPECT_FALSE(gemm_scalars_ok(0, bad));
  }
}

TEST(GemmContract, WorkFitsAtItsExactEdge) {
  ValueCheck check("gemm.contract.gemm_work_fits");
  for (const auto& [m, n, k] : {std::array{2, 3, 4}, {1, 1, 1}, {7, 11, 13}, {100, 3, 999}}) {
    const std::int64_t flops = std::int64_t{2} * m * n * k;
    EXPECT_TRUE(gemm_work_fits(m, n, k, flops));
    EXPECT_TRUE(gemm_work_fits(m, n, k, flops + 1));
    EXPECT_FALSE(gemm_work_fits(m, n, k, flops - 1));
  }
  EXPECT_FALSE(gemm_work_fits(kMaxDim, kMaxDim, kMaxDim, INT64_MAX));  // 2^73
  EXPECT_FALSE(gemm_work_fits(0, 1, 1, 100));
  EXPECT_FALSE(gemm_work_fits(1, 1, kMaxDim + 1, INT64_MAX));
  EXPECT_FALSE(gemm_work_fits(1, 1, 1, 0));
  EXPECT_FALSE(gemm_work_fits(1, 1, 1, INT64_MIN));
}

TEST(GemmContract, BackendNames) {
  ValueCheck check("gemm.contract.gemm_backend_name");
  EXPECT_EQ(gemm_backend_name(0), "serial");
  EXPECT_EQ(gemm_backend_name(1), "parallel");
  for (const std::int64_t other : {std::int64_t{-1}, std::int64_t{2}, INT64_MAX})
    EXPECT_EQ(gemm_backend_name(other), "unknown");
}

}  // namespace
}  // namespace krt::gemm
