#pragma once
// Messages from and to the bytes that gRPC carries. Bytes from the network are checked before they are parsed, so that
// what is wrong has a sentence (gRPC itself answers INTERNAL without one) and a small message cannot grow into a large
// amount of memory.

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>

#include "runtime/core/status.h"

namespace krt::wire {

// Levels of nested messages: 64 of Value, each of which is up to three messages (Value, Dict, Entry), and the request.
inline constexpr int kMaxMessageDepth = 64 * 3 + 4;
// Nested messages and elements of repeated fields in one request. A parsed Value takes about 100 bytes, and two on the
// wire; numbers in bulk travel as a tensor.
inline constexpr std::size_t kMaxMessageItems = std::size_t{1} << 20U;

// Well-formed, every string UTF-8, within both limits; else invalid_arguments naming the field.
Status check(const grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type);

// False where the bytes are no such message.
bool parse(const grpc::ByteBuffer& bytes, google::protobuf::Message& out);

template <class M>
Result<std::shared_ptr<M>> checked_parse(const grpc::ByteBuffer& bytes) {
  if (Status bad = check(bytes, *M::descriptor()); !bad.ok()) return bad;
  auto message = std::make_shared<M>();
  if (!parse(bytes, *message)) return invalid(M::descriptor()->full_name() + ": malformed bytes");
  return message;
}

grpc::ByteBuffer serialize(const google::protobuf::Message& message);

}  // namespace krt::wire
