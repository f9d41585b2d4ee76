#include "modules/mlpk/contract/contract.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "runtime/testing/value_check.h"

namespace krt::mlpk {
namespace {

using testing::ValueCheck;

TEST(MlpContract, NamesEveryCodeAndAnyNumber) {
  ValueCheck status("mlpk.contract.mlp_status_name"), backend("mlpk.contract.mlp_backend_name");
  std::set<std::string_view> names;
  std::int64_t code = 390;
  for (const StatusEntry& entry : kStatuses) {
    EXPECT_EQ(entry.code, code++);
    EXPECT_EQ(mlp_status_name(entry.code), entry.name);
    EXPECT_TRUE(entry.name.starts_with("mlpk_"));
    EXPECT_TRUE(names.insert(entry.name).second);
    EXPECT_FALSE(entry.meaning.empty());
  }
  EXPECT_EQ(code, 400);  // the last of the family's range
  EXPECT_EQ(mlp_status_name(398), "mlpk_id_out_of_range");
  for (const std::int64_t other : {std::int64_t{389}, code, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(mlp_status_name(other), "mlpk_code_out_of_range");
    EXPECT_EQ(mlp_backend_name(other), "unknown");
  }
  EXPECT_EQ(mlp_backend_name(0), "serial");
  EXPECT_EQ(mlp_backend_name(1), "parallel");
}

TEST(MlpContract, KnowsThreeActivations) {
  ValueCheck check("mlpk.contract.mlp_activation_known");
  for (const std::int64_t kind : {0, 1, 2}) EXPECT_TRUE(mlp_activation_known(kind));
  for (const std::int64_t kind : {std::int64_t{-1}, std::int64_t{3}, INT64_MIN, INT64_MAX})
    EXPECT_FALSE(mlp_activation_known(kind));
}

TEST(MlpContract, DimsChecks) {
  ValueCheck dims("mlpk.contract.mlp_dims_check"), vocab("mlpk.contract.mlp_vocab_check");
  const std::int64_t rows[][5] = {
      // a, b, c; the status as n_tok, d_model, d_ff; as n_tok, vocab, d_model
      {2, 4, 8, kOk, kOk},
      {0, 4, 8, kEmptyDimension, kEmptyDimension},
      {kMaxDim + 1, 4, -8, kEmptyDimension, kEmptyDimension},
      {2, INT64_MAX, 8, kDimensionTooLarge, kDimensionTooLarge},
      {1 << 14, 1, 1 << 14, kOk, kOk},                                      // 2^28 cells
      {1 << 14, 1, (1 << 14) + 1, kDimensionTooLarge, kDimensionTooLarge},  // n_tok times the last
      {(1 << 14) + 1, 1 << 14, 1, kDimensionTooLarge, kOk},                 // n_tok d_model
      {1, 1 << 14, (1 << 14) + 1, kOk, kDimensionTooLarge},                 // vocab d_model
      {kMaxDim, kMaxDim, kMaxDim, kDimensionTooLarge, kDimensionTooLarge},
  };
  for (const auto& [a, b, c, as_dims, as_vocab] : rows) {
    EXPECT_EQ(mlp_dims_check(a, b, c), as_dims) << a << ' ' << b << ' ' << c;
    EXPECT_EQ(mlp_vocab_check(a, b, c), as_vocab) << a << ' ' << b << ' ' << c;
  }
}

TEST(MlpContract, LengthChecks) {
  ValueCheck pair("mlpk.contract.mlp_pair_ok"), block("mlpk.contract.mlp_block_dims_ok");
  const std::vector<double> six(6, 1.0), four(4, 1.0), none;
  EXPECT_EQ(mlp_pair_ok(6, six, six), kOk);
  EXPECT_EQ(mlp_pair_ok(6, four, four), kALengthMismatch);
  EXPECT_EQ(mlp_pair_ok(6, six, four), kBLengthMismatch);
  EXPECT_EQ(mlp_pair_ok(0, none, none), kEmptyDimension);
  EXPECT_EQ(mlp_pair_ok(INT64_MAX, six, six), kDimensionTooLarge);
  EXPECT_EQ(mlp_block_dims_ok(2, 3, 2, six, six, six, six), kOk);
  EXPECT_EQ(mlp_block_dims_ok(2, 3, 2, four, four, six, six), kALengthMismatch);
  EXPECT_EQ(mlp_block_dims_ok(2, 3, 2, six, four, six, six), kWeightLengthMismatch);
  EXPECT_EQ(mlp_block_dims_ok(2, 3, 2, six, six, four, six), kWeightLengthMismatch);
  EXPECT_EQ(mlp_block_dims_ok(2, 3, 2, six, six, six, four), kWeightLengthMismatch);
  EXPECT_EQ(mlp_block_dims_ok(2, 3, 0, six, six, six, six), kEmptyDimension);
  EXPECT_EQ(mlp_block_dims_ok(kMaxDim, 1, kMaxDim, six, six, six, six), kDimensionTooLarge);
}

TEST(MlpContract, Numbers) {
  ValueCheck scalars("mlpk.contract.mlp_scalars_ok"), tol("mlpk.contract.mlp_tol_for"),
      work("mlpk.contract.mlp_work_fits"), workers("mlpk.contract.mlp_workers_for");
  EXPECT_TRUE(mlp_scalars_ok(-1e308));
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) EXPECT_FALSE(mlp_scalars_ok(bad));

  EXPECT_EQ(mlp_tol_for(1, 6), 0x1p-50);
  EXPECT_EQ(mlp_tol_for(-2, 6), 0x1p-49);
  EXPECT_EQ(mlp_tol_for(1, 0), 0);
  EXPECT_EQ(mlp_tol_for(1, INT64_MIN), 0);

  EXPECT_TRUE(mlp_work_fits(2, 3, 4, 144));
  EXPECT_FALSE(mlp_work_fits(2, 3, 4, 143));
  EXPECT_FALSE(mlp_work_fits(kMaxDim, kMaxDim, kMaxDim, INT64_MAX));
  EXPECT_FALSE(mlp_work_fits(0, 3, 4, 1000));
  EXPECT_FALSE(mlp_work_fits(1, 1, 1, INT64_MIN));

  const std::int64_t rows[][4] = {{1 << 20, 4, 16, 4},  {1 << 20, 64, 16, 16}, {1 << 20, 0, 16, 16},
                                  {1 << 20, -5, 2, 2},  {1 << 16, 16, 16, 2},  {100, 16, 16, 1},
                                  {0, 4, 4, 1},         {INT64_MIN, 4, 4, 1},  {1 << 20, 4, 0, 1},
                                  {INT64_MAX, 8, 4, 4}, {1 << 20, 4, -7, 1}};
  for (const auto& [n, requested, cores, want] : rows)
    EXPECT_EQ(mlp_workers_for(n, requested, cores), want) << n << ' ' << requested << ' ' << cores;
}

}  // namespace
}  // namespace krt::mlpk
