#include "modules/normk/contract/contract.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "runtime/testing/value_check.h"

namespace krt::normk {
namespace {

using testing::ValueCheck;

TEST(NormContract, NamesEveryCodeAndAnyNumber) {
  ValueCheck check("normk.contract.norm_status_name");
  std::set<std::string_view> names;
  std::int64_t code = 380;
  for (const StatusEntry& entry : kStatuses) {
    EXPECT_EQ(entry.code, code++);
    EXPECT_EQ(norm_status_name(entry.code), entry.name);
    EXPECT_TRUE(entry.name.starts_with("normk_"));
    EXPECT_TRUE(names.insert(entry.name).second);
    EXPECT_FALSE(entry.meaning.empty());
  }
  EXPECT_EQ(code, 390);  // the last of the family's range
  EXPECT_EQ(norm_status_name(386), "normk_bad_scalar");
  for (const std::int64_t other : {std::int64_t{379}, std::int64_t{390}, INT64_MIN, INT64_MAX})
    EXPECT_EQ(norm_status_name(other), "normk_code_out_of_range");
}

TEST(NormContract, EpsIsFiniteAndAboveZero) {
  ValueCheck check("normk.contract.norm_eps_ok");
  for (const double good : {1e-6, 5e-324, 1e308}) EXPECT_TRUE(norm_eps_ok(good)) << good;
  for (const double bad : {0.0, -0.0, -1e-6, std::nan(""), HUGE_VAL, -HUGE_VAL}) EXPECT_FALSE(norm_eps_ok(bad)) << bad;
}

TEST(NormContract, DimsCheck) {
  ValueCheck check("normk.contract.norm_dims_check");
  const double nan = std::nan("");
  const struct {
    std::int64_t rows, cols;
    double eps;
    std::int64_t want;
  } table[] = {
      {2, 4, 1e-6, kOk},
      {kMaxDim, kMaxDim, 1e-6, kOk},
      {0, 4, 1e-6, kEmptyDimension},
      {2, -4, nan, kEmptyDimension},
      {INT64_MIN, INT64_MAX, 1e-6, kEmptyDimension},
      {kMaxDim + 1, 4, nan, kDimensionTooLarge},
      {2, INT64_MAX, 1e-6, kDimensionTooLarge},
      {2, 4, 0, kBadScalar},
      {2, 4, nan, kBadScalar},
  };
  for (const auto& row : table) EXPECT_EQ(norm_dims_check(row.rows, row.cols, row.eps), row.want);
}

TEST(NormContract, GradcheckDimsCheckLimitsTheWork) {
  EXPECT_EQ(gradcheck_dims_check(1, 1 << 14, 1e-6, 1e-4), kOk);
  EXPECT_EQ(gradcheck_dims_check(2, 1 << 14, 1e-6, 1e-4), kDimensionTooLarge);
  EXPECT_EQ(gradcheck_dims_check(kMaxDim, kMaxDim, 1e-6, 1e-4), kDimensionTooLarge);
  EXPECT_EQ(gradcheck_dims_check(0, 1, 1e-6, 1e-4), kEmptyDimension);
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_EQ(gradcheck_dims_check(2, 2, 1e-6, bad), kBadScalar);
    EXPECT_EQ(gradcheck_dims_check(2, 2, bad, 1e-4), kBadScalar);
  }
}

TEST(NormContract, TolFor) {
  ValueCheck check("normk.contract.norm_tol_for");
  EXPECT_EQ(norm_tol_for(1, 4), 0x1p-50);  // 4 / 2 + 6 = 8 units
  EXPECT_EQ(norm_tol_for(-2, 4), 0x1p-49);
  EXPECT_EQ(norm_tol_for(1, 1024), 518 * 0x1p-53);
  EXPECT_EQ(norm_tol_for(0, 4), 0);
  EXPECT_EQ(norm_tol_for(1, 0), 0);
  EXPECT_EQ(norm_tol_for(1, INT64_MIN), 0);
}

TEST(NormContract, WorkFitsAtItsExactEdge) {
  ValueCheck check("normk.contract.norm_work_fits");
  EXPECT_TRUE(norm_work_fits(3, 5, 15));
  EXPECT_FALSE(norm_work_fits(3, 5, 14));
  EXPECT_TRUE(norm_work_fits(kMaxDim, kMaxDim, std::int64_t{1} << 48));
  EXPECT_FALSE(norm_work_fits(kMaxDim, kMaxDim, (std::int64_t{1} << 48) - 1));
  EXPECT_FALSE(norm_work_fits(kMaxDim + 1, 1, INT64_MAX));
  EXPECT_FALSE(norm_work_fits(0, 1, 10));
  EXPECT_FALSE(norm_work_fits(1, 1, INT64_MIN));
}

}  // namespace
}  // namespace krt::normk
