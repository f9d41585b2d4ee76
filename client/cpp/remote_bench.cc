// What a remote call costs beside the least that gRPC can do: an echo of google.protobuf.BytesValue by generated code,
// answered in gRPC's own threads. And a row of logits as JSON text beside the same row as a tensor.

#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/server_builder.h>

#include <algorithm>

#include "algenta_runtime.grpc.pb.h"
#include "client/cpp/remote_runtime.h"
#include "runtime/bench/bench.h"
#include "runtime/codec/json.h"
#include "runtime/registry/module_builder.h"
#include "runtime/runtime.h"
#include "server/serve.h"
#include "server/server.h"

namespace krt::bench {
namespace {

using Bytes = google::protobuf::BytesValue;
using grpc::internal::RpcMethod;

constexpr char kEcho[] = "/bench.Echo/Echo";
constexpr std::size_t kSmall = 64, kLarge = std::size_t{16} << 20U;
constexpr std::size_t kVocabulary = 151936;  // Qwen3

class EchoService final : public grpc::Service {
 public:
  EchoService() {
    AddMethod(new grpc::internal::RpcServiceMethod(kEcho, RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodCallback(0, new grpc::internal::CallbackUnaryHandler<Bytes, Bytes>(
                              [](grpc::CallbackServerContext* context, const Bytes* request, Bytes* response) {
                                response->set_value(request->value());
                                grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
                                reactor->Finish(grpc::Status::OK);
                                return reactor;
                              }));
  }
};

std::shared_ptr<grpc::Channel> connect_to(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

// A server of nothing but the echo, and its client.
class BareEcho {
 public:
  BareEcho() {
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(-1);
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    channel_ = connect_to("127.0.0.1:" + std::to_string(port));
  }

  std::size_t call(const Bytes& request) {
    const RpcMethod method(kEcho, RpcMethod::NORMAL_RPC);
    grpc::ClientContext context;
    Bytes response;
    const grpc::Status status =
        grpc::internal::BlockingUnaryCall<Bytes, Bytes>(channel_.get(), method, &context, request, &response);
    return status.ok() ? response.value().size() : 0;
  }

 private:
  EchoService service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

Value echo(const Value& x) { return x; }

std::int64_t argmax(std::span<const double> row) { return std::ranges::max_element(row) - row.begin(); }

Registry registry() {
  Registry r;
  ModuleBuilder m(r, "bench.remote", "Kernels that do next to nothing");
  m.function<echo>("echo", "Its argument", {{"x", "anything"}}).example("[1]");
  m.function<argmax>("argmax", "The place of the largest", {{"row", "numbers"}}).example("[[1,2]]");
  return r;
}

ServerOptions quiet() {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.log_level = "off";
  return options;
}

class Fixture {
 public:
  Fixture() : runtime_(registry()), server_(Server::start(runtime_, quiet()).value()), remote_(options()) {
    std::vector<double> row(kVocabulary);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<double>(i * 7919 % 104729) / 7919;
    row_ = List{std::move(row)};
    row_request_.set_module("bench.remote");
    row_request_.set_function("argmax");
    row_request_.set_args_json(to_json(row_));
  }

  std::size_t echo_remotely(const Value& payload) {
    const ExecuteResult r = remote_.execute("bench.remote", "echo", payload);
    const auto* tensor = r.result.get_if<Tensor>();
    return tensor != nullptr ? tensor->bytes() : 0;
  }
  std::size_t echo_barely(const Bytes& payload) { return bare_.call(payload); }

  std::string row_as_json() {
    grpc::ClientContext context;
    algenta::runtime::v1::ExecuteResponse response;
    return json_->ExecuteModule(&context, row_request_, &response).ok() ? response.result_json() : "";
  }
  std::string row_as_tensor() { return to_json(remote_.execute("bench.remote", "argmax", row_).result); }

 private:
  [[nodiscard]] RemoteOptions options() const {
    RemoteOptions o;
    o.address = server_->address();
    return o;
  }

  Runtime runtime_;
  std::unique_ptr<Server> server_;
  RemoteRuntime remote_;
  std::unique_ptr<algenta::runtime::v1::CodnaRuntime::Stub> json_ =
      algenta::runtime::v1::CodnaRuntime::NewStub(connect_to(server_->address()));
  BareEcho bare_;
  Value row_;
  algenta::runtime::v1::ExecuteRequest row_request_;
};

// Made by the first case that runs: a list of names needs no server.
Fixture& fixture() {
  tune_process();  // as `krt serve` does
  static Fixture instance;
  return instance;
}

void add_echo(Suite& suite, const std::string& name, std::size_t bytes, double work) {
  const auto values = std::make_shared<Value>(*Tensor::zeros(DType::kU8, Shape{static_cast<std::int64_t>(bytes)}));
  const auto message = std::make_shared<Bytes>();
  message->set_value(std::string(bytes, 'x'));
  suite.add({.name = name,
             .work = work,
             .check =
                 [=] {
                   const bool same =
                       fixture().echo_remotely(*values) == bytes && fixture().echo_barely(*message) == bytes;
                   return same ? "" : "another number of bytes came back";
                 },
             .run = [=] { keep(fixture().echo_remotely(*values)); },
             .peer = "gRPC echo",
             .peer_run = [=] { keep(fixture().echo_barely(*message)); }});
}

}  // namespace

void bench_remote(Suite& suite) {
  add_echo(suite, "remote.echo/bytes=64", kSmall, 0);
  add_echo(suite, "remote.echo/bytes=16777216", kLarge, 2.0 * kLarge);
  suite.add({.name = "remote.json_row/n=151936",
             .check = [] { return fixture().row_as_json() == fixture().row_as_tensor() ? "" : "results differ"; },
             .run = [] { keep(fixture().row_as_json()); },
             .peer = "krt.v1",
             .peer_run = [] { keep(fixture().row_as_tensor()); }});
}

}  // namespace krt::bench
