// algenta.runtime.v1.CodnaRuntime: any bytes for any method, or ExecuteModule with an example changed in a few places.
// No crash, no `internal`; a result is JSON that krt reads itself, strict JSON without bare tokens.

#include "algenta_runtime.pb.h"
#include "runtime/codec/json.h"
#include "server/codna_runtime_service.h"
#include "tests/fuzz/services.h"

namespace {

using namespace krt;
namespace pb = algenta::runtime::v1;

std::string changed_request(fuzz::Choices& choices) {
  const FunctionInfo& info = fuzz::choose_function(choices);
  pb::ExecuteRequest request;
  request.set_module(info.module);
  request.set_function(info.name);
  request.set_args_json(to_json(fuzz::changed_example(info, choices), NonFinite::kTokens));
  return fuzz::nearly(wire::serialize(request), choices);
}

void check(const pb::ExecuteResponse& r) {
  fuzz::require(!r.error().starts_with("internal"), r.error());
  fuzz::require(r.success() == r.error().empty(), "success and error disagree");
  fuzz::require(parse_json(r.result_json()).ok(), r.result_json());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Method> methods = codna_runtime_methods(fuzz::builtin_runtime(), fuzz::kMaxMessageBytes);
  static const Method& execute = fuzz::method_named(methods, "/ExecuteModule");
  fuzz::Choices choices(data, size);
  const bool raw = choices.byte() % 2 == 0;
  const Method& method = raw ? methods[choices.below(methods.size())] : execute;
  fuzz::Choices slicing(data, size);  // its own bytes: the first one
  const auto response = fuzz::call(method, raw ? std::string(choices.rest()) : changed_request(choices), slicing);
  if (const auto* r = dynamic_cast<const pb::ExecuteResponse*>(response.get())) check(*r);
  fuzz::free_handles();
  return 0;
}
