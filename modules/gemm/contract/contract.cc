#include "modules/gemm/contract/contract.h"

#include <cmath>

#include "runtime/registry/module_builder.h"

namespace krt::gemm {

std::int64_t gemm_dims_check(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t len_a, std::int64_t len_b) {
  if (const std::int64_t status = check_dims(kDimRule, {m, n, k}); status != kOk) return status;
  if (m * n > kMaxCells) return kDimensionTooLarge;  // products of two allowed dimensions are at most 2^48
  if (len_a != m * k) return kALengthMismatch;
  return len_b != k * n ? kBLengthMismatch : kOk;
}

bool gemm_scalars_ok(double alpha, double beta) { return std::isfinite(alpha) && std::isfinite(beta); }

bool gemm_work_fits(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t ceiling) {
  // Nested floors: the same answer as 2 m n k <= ceiling, which would need 73 bits.
  return check_dims(kDimRule, {m, n, k}) == kOk && ceiling > 0 && m <= ceiling / 2 / n / k;
}

std::string_view gemm_backend_name(std::int64_t code) {
  switch (code) {
    case kSerial: return "serial";
    case kParallel: return "parallel";
    default: return "unknown";
  }
}

std::string_view gemm_status_name(std::int64_t code) { return status_name(kStatuses, code, "gemm_code_out_of_range"); }

void register_contract(Registry& registry) {
  ModuleBuilder m(registry, "gemm.contract", "Status vocabulary 320-339 and the checks of the gemm family");
  m.function<gemm_backend_name>("gemm_backend_name", "The name of a result's backend_used",
                                {{"code", "0 serial, 1 parallel; any other number is unknown"}})
      .example("[0]");
  m.function<gemm_dims_check>("gemm_dims_check", "The checks of a product of two matrices, as a status",
                              {{"m", "claimed rows of a and of the result"},
                               {"n", "claimed columns of b and of the result"},
                               {"k", "claimed columns of a and rows of b"},
                               {"len_a", "real length of a"},
                               {"len_b", "real length of b"}})
      .example("[2,3,4,8,12]");
  m.function<gemm_scalars_ok>("gemm_scalars_ok", "Whether both scalars of a product are finite",
                              {{"alpha", "factor of the product"}, {"beta", "factor of the old result"}})
      .example("[1.0,0.0]");
  m.function<gemm_work_fits>("gemm_work_fits", "Whether a product costs no more than a number of flops",
                             {{"m", "rows of the result"},
                              {"n", "columns of the result"},
                              {"k", "length of the sums"},
                              {"ceiling", "the most flops, 2 m n k, that fit"}})
      .example("[2,3,4,48]");
  m.function<gemm_status_name>("gemm_status_name", "The name of a status code of this family",
                               {{"code", "a status; any other number is gemm_code_out_of_range"}})
      .example("[322]");
}

}  // namespace krt::gemm
