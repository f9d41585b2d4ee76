#include <arrow/compute/api.h>
#include <arrow/compute/function.h>
#include <arrow/compute/kernel.h>
#include <arrow/compute/registry.h>
#include <arrow/scalar.h>

#include "tests/peers/dispatch/peer.h"

namespace {

namespace cp = arrow::compute;

double value(const cp::ExecValue& v) {
  return v.is_scalar() ? v.scalar_as<arrow::DoubleScalar>().value : v.array.GetValues<double>(1)[0];
}

arrow::Status scale_add(cp::KernelContext*, const cp::ExecSpan& batch, cp::ExecResult* out) {
  const double result = value(batch[0]) * value(batch[1]) + value(batch[2]) + value(batch[3]);
  out->array_span_mutable()->GetValues<double>(1)[0] = result;
  return arrow::Status::OK();
}

std::string name(int i) { return "scale_add_" + std::to_string(i); }

const std::string& registered() {
  static const std::string wanted = [] {
    for (int i = 0; i < 400; ++i) {
      auto function = std::make_shared<cp::ScalarFunction>(name(i), cp::Arity(4),
                                                           cp::FunctionDoc{"Adds", "", {"x", "s", "y", "b"}});
      const auto f64 = arrow::float64();
      if (!function->AddKernel({f64, f64, f64, f64}, f64, scale_add).ok()) std::abort();
      if (!cp::GetFunctionRegistry()->AddFunction(std::move(function)).ok()) std::abort();
    }
    return name(207);
  }();
  return wanted;
}

const std::vector<arrow::Datum>& arguments() {
  static const std::vector<arrow::Datum> args{arrow::Datum(2.0), arrow::Datum(3.0), arrow::Datum(4.0),
                                              arrow::Datum(0.5)};
  return args;
}

double answer(const arrow::Result<arrow::Datum>& r) { return r->scalar_as<arrow::DoubleScalar>().value; }

}  // namespace

double krt_peer_resolved(int calls) {
  static const std::shared_ptr<cp::Function> function = *cp::GetFunctionRegistry()->GetFunction(registered());
  double last = 0;
  for (int i = 0; i < calls; ++i) last = answer(function->Execute(arguments(), nullptr, nullptr));
  return last;
}

double krt_peer_by_name(int calls) {
  const std::string& wanted = registered();
  double last = 0;
  for (int i = 0; i < calls; ++i) last = answer(cp::CallFunction(wanted, arguments()));
  return last;
}
