// Any function with any arguments: the first byte says whether they are the text of the rest, as JSON, or the
// function's example changed in a few places. No crash, no `internal`, and the same answer when called again, of a
// function that changes nothing.

#include "runtime/codec/json.h"
#include "tests/fuzz/calls.h"

namespace {

using namespace krt;

std::string answer(const FunctionInfo& info, const Value& args) {
  CallOptions options;
  options.arguments_by_value = true;
  ExecuteResult r = fuzz::builtin_runtime().execute(info.module, info.name, args, options);
  fuzz::require(r.error.reason() != Reason::kInternal, r.error.message());
  r.latency_ms = 0;
  return to_json(r);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices(data, size);
  const bool text = choices.byte() % 4 == 0;
  const FunctionInfo& info = fuzz::choose_function(choices);
  const Result<Value> args = text ? parse_json_args(choices.rest()) : fuzz::changed_example(info, choices);
  if (args.ok()) {
    const std::string first = answer(info, *args);
    if (info.caps.side_effects == SideEffects::kNone) fuzz::require(answer(info, *args) == first, first);
    fuzz::free_handles();
  }
  return 0;
}
