#include "tests/fuzz/services.h"

#include <google/protobuf/descriptor.h>

namespace krt::fuzz {
namespace {

namespace pb = google::protobuf;

grpc::ByteBuffer in_slices(std::string_view bytes, std::size_t length) {
  std::vector<grpc::Slice> slices;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, length == 0 ? bytes.size() : length);
    slices.emplace_back(part.data(), part.size());
    bytes.remove_prefix(part.size());
  }
  return {slices.data(), slices.size()};
}

// An empty response of the method "/package.Service/Method".
std::unique_ptr<pb::Message> response_of(std::string_view method) {
  std::string name(method.substr(1));
  name[name.find('/')] = '.';
  const pb::MethodDescriptor* const descriptor = pb::DescriptorPool::generated_pool()->FindMethodByName(name);
  require(descriptor != nullptr, "no such method: " + name);
  return std::unique_ptr<pb::Message>(
      pb::MessageFactory::generated_factory()->GetPrototype(descriptor->output_type())->New());
}

}  // namespace

const Method& method_named(const std::vector<Method>& methods, std::string_view name) {
  for (const Method& m : methods)
    if (m.name.ends_with(name)) return m;
  require(false, name);
  return methods.front();
}

std::unique_ptr<pb::Message> call(const Method& method, std::string_view request, Choices& choices) {
  std::unique_ptr<pb::Message> response = response_of(method.name);
  const auto read = [&](const grpc::ByteBuffer& bytes) {
    require(wire::parse(bytes, *response), method.name + ": a response that is none");
  };
  grpc::ByteBuffer bytes = in_slices(request, choices.byte());
  const Reply reply = answer(method, bytes, {}, read);
  const grpc::StatusCode code = reply.status.error_code();
  require(code != grpc::StatusCode::INTERNAL && code != grpc::StatusCode::UNKNOWN, reply.status.error_message());
  if (!reply.status.ok() || reply.response.Length() > kMaxMessageBytes) return nullptr;
  read(reply.response);
  return response;
}

std::string nearly(const grpc::ByteBuffer& message, Choices& choices) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  require(message.Dump(&slices).ok(), "no bytes");
  for (const grpc::Slice& s : slices) bytes.append(reinterpret_cast<const char*>(s.begin()), s.size());
  if (!bytes.empty() && choices.byte() % 4 == 1) bytes[choices.below(bytes.size())] = static_cast<char>(choices.byte());
  return bytes;
}

}  // namespace krt::fuzz
