#include "modules/attnk/contract/contract.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "runtime/testing/value_check.h"

namespace krt::attnk {
namespace {

using testing::ValueCheck;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(AttnContract, StatusNamesAreTotalAndDistinct) {
  ValueCheck check("attnk.contract.attn_status_name");
  std::set<std::string_view> names;
  for (const StatusEntry& e : kStatuses) {
    EXPECT_GE(e.code, 360);
    EXPECT_LE(e.code, 379);
    EXPECT_TRUE(names.insert(e.name).second) << e.name;
    EXPECT_EQ(attn_status_name(e.code), e.name);
  }
  EXPECT_EQ(attn_status_name(360), "attn_ok");
  for (const std::int64_t code : {std::int64_t{0}, std::int64_t{-360}, std::int64_t{377}, std::int64_t{380}, kHuge})
    EXPECT_EQ(attn_status_name(code), "attn_code_out_of_range");
}

TEST(AttnContract, BackendNamesAreTotal) {
  ValueCheck check("attnk.contract.attn_backend_name");
  const std::string_view names[] = {"none", "direct", "tiled", "unstable"};
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(attn_backend_name(i), names[i]);
  for (const std::int64_t code : {std::int64_t{-1}, std::int64_t{4}, kHuge})
    EXPECT_EQ(attn_backend_name(code), "unknown");
}

TEST(AttnContract, DimensionChecksInOrder) {
  ValueCheck check("attnk.contract.attn_dims_check");
  const struct {
    std::int64_t n_seq, h_q, h_kv, s_q, s_k, d, status;
  } rows[] = {
      {1, 16, 8, 512, 4096, 128, kOk},
      {1, 1, 1, 1, 1, 1, kOk},
      {1, 7, 7, 1, kMaxDim, 3, kOk},
      {0, 16, 8, 1, 1, 1, kEmptyDimension},
      {1, 16, 8, 1, 1, -5, kEmptyDimension},
      {1, 16, 0, 1, 1, 1, kEmptyDimension},
      {1, 0, kMaxDim + 1, 1, 1, 1, kEmptyDimension},  // emptiness comes first
      {1, 16, 8, kMaxDim + 1, 1, 1, kDimensionTooLarge},
      {1, 3, 2, kHuge, 1, 1, kDimensionTooLarge},  // then size
      {1, 3, 2, 1, 1, 1, kHeadsNotGrouped},
      {1, 2, 4, 1, 1, 1, kHeadsNotGrouped},
  };
  for (const auto& r : rows)
    EXPECT_EQ(attn_dims_check(r.n_seq, r.h_q, r.h_kv, r.s_q, r.s_k, r.d), r.status) << r.h_q << "/" << r.h_kv;
}

TEST(AttnContract, Scalars) {
  ValueCheck scalars("attnk.contract.attn_scalars_ok");
  ValueCheck scale("attnk.contract.attn_scale_ok");
  const double inf = std::numeric_limits<double>::infinity();
  const struct {
    double x;
    bool scalar, scale;
  } rows[] = {{0.125, true, true},  {5e-324, true, true},
              {0, true, false},     {-0.0, true, false},
              {-1, true, false},    {inf, false, false},
              {-inf, false, false}, {std::numeric_limits<double>::quiet_NaN(), false, false}};
  for (const auto& r : rows) {
    EXPECT_EQ(attn_scalars_ok(r.x), r.scalar) << r.x;
    EXPECT_EQ(attn_scale_ok(r.x), r.scale) << r.x;
  }
}

TEST(AttnContract, CeilingsDoNotOverflow) {
  ValueCheck bytes("attnk.contract.attn_score_bytes_fit");
  ValueCheck work("attnk.contract.attn_work_fits");
  EXPECT_TRUE(attn_score_bytes_fit(512, 4096, 2, 33554432));
  EXPECT_FALSE(attn_score_bytes_fit(512, 4096, 2, 33554431));
  EXPECT_FALSE(attn_score_bytes_fit(kHuge, kHuge, 1, kHuge));
  EXPECT_FALSE(attn_score_bytes_fit(0, 4, 1, 100));
  EXPECT_FALSE(attn_score_bytes_fit(-1, -1, 1, 100));
  EXPECT_TRUE(attn_work_fits(2, 3, 5, 7, 1050));
  EXPECT_FALSE(attn_work_fits(2, 3, 5, 7, 1049));
  EXPECT_FALSE(attn_work_fits(1, 1, kHuge, 1, kHuge));
  EXPECT_FALSE(attn_work_fits(1, 1, 1, 0, kHuge));
}

TEST(AttnContract, SizesAndWork) {
  ValueCheck direct("attnk.contract.attn_ws_bytes_direct");
  ValueCheck tiled("attnk.contract.attn_ws_bytes_tiled");
  ValueCheck varlen("attnk.contract.attn_work_cells_varlen");
  EXPECT_EQ(attn_ws_bytes_direct(2, 3, 5), 8.0 * (6 + 20 + 30));
  EXPECT_EQ(attn_ws_bytes_tiled(2, 3, 5), 8.0 * (6 + 20 + 30 + 4));
  EXPECT_EQ(attn_ws_bytes_direct(0, 3, 5), 0);
  EXPECT_EQ(attn_ws_bytes_tiled(2, 3, -5), 0);
  EXPECT_EQ(attn_ws_bytes_direct(kHuge, kHuge, 1), 8 * 0x1p126);

  const std::vector<std::int64_t> sound{0, 3, 3, 7}, late{1, 3}, falling{0, 4, 3}, wide{0, kHuge};
  EXPECT_EQ(attn_work_cells_varlen(sound, 3, 4, 64), (9.0 + 16.0) * 4 * 64);
  EXPECT_EQ(attn_work_cells_varlen(wide, 1, 1, 1), 0x1p126);
  EXPECT_EQ(attn_work_cells_varlen(sound, 2, 4, 64), 0);
  EXPECT_EQ(attn_work_cells_varlen(sound, 4, 4, 64), 0);
  EXPECT_EQ(attn_work_cells_varlen({}, -1, 4, 64), 0);
  EXPECT_EQ(attn_work_cells_varlen({}, std::numeric_limits<std::int64_t>::min(), 4, 64), 0);
  EXPECT_EQ(attn_work_cells_varlen(late, 1, 4, 64), 0);
  EXPECT_EQ(attn_work_cells_varlen(falling, 2, 4, 64), 0);
  EXPECT_EQ(attn_work_cells_varlen(sound, 3, 0, 64), 0);
}

}  // namespace
}  // namespace krt::attnk
