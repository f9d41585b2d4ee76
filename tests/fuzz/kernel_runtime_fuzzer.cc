// krt.v1.KernelRuntime: any bytes for any method, or Execute, ExecuteBatch and PutHandle with examples changed in a few
// places. No crash, no `internal`, and every result is a value that the client reads.

#include "proto/codec/execute.h"
#include "proto/codec/value.h"
#include "server/kernel_runtime_service.h"
#include "tests/fuzz/services.h"

namespace {

using namespace krt;

// The bytes of what can be sent; else none.
std::string bytes_of(Result<grpc::ByteBuffer> message, fuzz::Choices& choices) {
  return message.ok() ? fuzz::nearly(*message, choices) : std::string();
}

BatchItem changed_item(fuzz::Choices& choices) {
  const FunctionInfo& info = fuzz::choose_function(choices);
  return {info.module, info.name, fuzz::changed_example(info, choices)};
}

std::string changed_execute(fuzz::Choices& choices) {
  const BatchItem item = changed_item(choices);
  return bytes_of(wire::encode_request(item.module, item.function, item.args, "r", wire::TensorMemory::kShared),
                  choices);
}

std::string changed_batch(fuzz::Choices& choices) {
  std::vector<BatchItem> items;
  for (std::size_t n = choices.below(4); n > 0; --n) items.push_back(changed_item(choices));
  return bytes_of(wire::encode_batch_request(items, wire::TensorMemory::kShared), choices);
}

std::string changed_put(fuzz::Choices& choices) {
  wire::Writer writer(wire::TensorMemory::kCopied);
  wire::put_value(writer, v1::PutHandleRequest::kValueFieldNumber, changed_item(choices).args);
  return bytes_of(writer.finish(), choices);
}

void check(v1::ExecuteResponse& r, const std::shared_ptr<const void>& owner) {
  fuzz::require(r.error_code() != "internal", r.error());
  fuzz::require(r.success() == r.error_code().empty(), "success and error_code disagree");
  const std::string error = r.error();
  fuzz::require(wire::take_result(r, owner).error.message() == error, error);
}

void check(const std::shared_ptr<google::protobuf::Message>& response) {
  if (auto* one = dynamic_cast<v1::ExecuteResponse*>(response.get())) check(*one, response);
  if (auto* batch = dynamic_cast<v1::ExecuteBatchResponse*>(response.get()))
    for (v1::ExecuteResponse& r : *batch->mutable_results()) check(r, response);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::function<void(v1::GetInfoResponse&)> info = [](v1::GetInfoResponse&) {};
  static const std::vector<Method> methods =
      kernel_runtime_methods(fuzz::builtin_runtime(), info, fuzz::kMaxMessageBytes);
  constexpr struct {
    std::string_view method;
    std::string (*request)(fuzz::Choices&);
  } kChanged[] = {{"/Execute", changed_execute}, {"/ExecuteBatch", changed_batch}, {"/PutHandle", changed_put}};
  fuzz::Choices choices(data, size), slicing(data, size);  // the first byte says how long slices are, too
  if (choices.byte() % 2 == 0) {
    const Method& method = methods[choices.below(methods.size())];
    check(fuzz::call(method, choices.rest(), slicing));
  } else {
    const auto& changed = kChanged[choices.below(std::size(kChanged))];
    check(fuzz::call(fuzz::method_named(methods, changed.method), changed.request(choices), slicing));
  }
  fuzz::free_handles();
  return 0;
}
