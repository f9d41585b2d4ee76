#pragma once
// A gRPC service without a network: its methods are called as the dispatcher would, with the bytes of a fuzzer.

#include <google/protobuf/message.h>

#include <memory>
#include <string_view>

#include "server/method.h"
#include "tests/fuzz/calls.h"

namespace krt::fuzz {

// A server's default.
inline constexpr std::size_t kMaxMessageBytes = std::size_t{64} << 20U;

// The method whose name ends in `name` ("/Execute").
const Method& method_named(const std::vector<Method>& methods, std::string_view name);

// What the method answers to a request of these bytes, which come in slices as long as a byte of `choices` says (0:
// in one): its response (the last one of a stream), read back, or null for a status that is not OK and for more than
// kMaxMessageBytes. `internal` ends the process.
std::unique_ptr<google::protobuf::Message> call(const Method& method, std::string_view request, Choices& choices);

// A message as bytes, one of which is changed now and then.
std::string nearly(const grpc::ByteBuffer& message, Choices& choices);

}  // namespace krt::fuzz
