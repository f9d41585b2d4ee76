#include "modules/normk/contract/contract.h"

#include <cmath>

#include "modules/checks.h"
#include "runtime/registry/module_builder.h"

namespace krt::normk {

bool norm_eps_ok(double eps) { return std::isfinite(eps) && eps > 0; }

std::int64_t norm_dims_check(std::int64_t n_rows, std::int64_t n_cols, double eps) {
  const std::int64_t status = check_dims({kOk, kEmptyDimension, kDimensionTooLarge, kMaxDim}, {n_rows, n_cols});
  return status == kOk && !norm_eps_ok(eps) ? kBadScalar : status;
}

std::int64_t gradcheck_dims_check(std::int64_t n_rows, std::int64_t n_cols, double eps, double step) {
  const std::int64_t status = norm_dims_check(n_rows, n_cols, eps);
  if (status != kOk && status != kBadScalar) return status;
  if (n_rows > kMaxGradcheckWork / n_cols / n_cols) return kDimensionTooLarge;
  return norm_eps_ok(step) ? status : kBadScalar;
}

std::string_view norm_status_name(std::int64_t code) { return status_name(kStatuses, code, "normk_code_out_of_range"); }

double norm_tol_for(double magnitude, std::int64_t n_cols) {
  return n_cols < 1 ? 0.0 : (static_cast<double>(n_cols) / 2 + 6) * 0x1p-53 * std::fabs(magnitude);
}

bool norm_work_fits(std::int64_t n_rows, std::int64_t n_cols, std::int64_t ceiling) {
  return norm_dims_check(n_rows, n_cols, 1) == kOk && n_rows * n_cols <= ceiling;  // at most 2^48
}

void register_contract(Registry& registry) {
  ModuleBuilder m(registry, "normk.contract", "Status vocabulary 380-389 and the checks of the normk family");
  m.function<norm_dims_check>(
       "norm_dims_check", "The checks of a norm's dimensions and eps, as a status",
       {{"n_rows", "how many rows"}, {"n_cols", "values in a row"}, {"eps", "what is added under the root"}})
      .example("[2,4,1e-6]");
  m.function<norm_eps_ok>("norm_eps_ok", "Whether eps is a finite number above 0",
                          {{"eps", "what is added under the root"}})
      .example("[1e-6]");
  m.function<norm_status_name>("norm_status_name", "The name of a status code of this family",
                               {{"code", "a status; any other number is normk_code_out_of_range"}})
      .example("[382]");
  m.function<norm_tol_for>("norm_tol_for", "How far rounding may move a normalised value",
                           {{"magnitude", "of the value"}, {"n_cols", "values in its row"}})
      .example("[1.0,1024]");
  m.function<norm_work_fits>(
       "norm_work_fits", "Whether a matrix has no more cells than a number",
       {{"n_rows", "how many rows"}, {"n_cols", "values in a row"}, {"ceiling", "the most cells"}})
      .example("[2,4,8]");
}

}  // namespace krt::normk
