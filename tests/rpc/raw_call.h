#pragma once
// Calls with bytes of the test's choice, past the client library and past protobuf.

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <future>
#include <string>

namespace krt::testing {

struct RawAnswer {
  grpc::Status status;
  std::string reason;  // the krt-reason trailer
  std::string bytes;
};

inline grpc::ByteBuffer to_buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

inline std::string to_string(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string out;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return out;
  for (const grpc::Slice& s : slices) out.append(reinterpret_cast<const char*>(s.begin()), s.size());
  return out;
}

inline RawAnswer raw_call(const std::string& address, const std::string& method, const std::string& bytes,
                          grpc_compression_algorithm compression = GRPC_COMPRESS_NONE) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  grpc::GenericStub stub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_compression_algorithm(compression);
  const grpc::ByteBuffer request = to_buffer(bytes);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, method, {}, &request, &response, [&](grpc::Status s) { done.set_value(std::move(s)); });
  RawAnswer answer{done.get_future().get(), {}, {}};
  const auto& trailers = context.GetServerTrailingMetadata();
  if (const auto it = trailers.find("krt-reason"); it != trailers.end())
    answer.reason = {it->second.data(), it->second.size()};
  answer.bytes = to_string(response);
  return answer;
}

}  // namespace krt::testing
