// algenta.runtime.v1.CodnaRuntime as its clients see it.

#include "algenta_runtime.grpc.pb.h"
#include "modules/builtin.h"
#include "runtime/codec/json.h"
#include "runtime/testing/random.h"
#include "server/codna_runtime_service.h"
#include "tests/rpc/rpc_testing.h"

namespace krt::testing {
namespace {

namespace pb = algenta::runtime::v1;

class JsonService : public ::testing::Test {
 protected:
  explicit JsonService(Registry registry = test_registry()) : served_(quiet_options(), std::move(registry)) {}

  pb::ExecuteResponse execute(const std::string& module, const std::string& function, const std::string& args,
                              const std::string& id = "") {
    pb::ExecuteRequest request;
    request.set_module(module);
    request.set_function(function);
    request.set_args_json(args);
    request.set_request_id(id);
    pb::ExecuteResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub_->ExecuteModule(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  Served served_;
  std::unique_ptr<pb::CodnaRuntime::Stub> stub_ =
      pb::CodnaRuntime::NewStub(grpc::CreateChannel(served_.server->address(), grpc::InsecureChannelCredentials()));
};

class JsonServiceBuiltin : public JsonService {
 protected:
  JsonServiceBuiltin() : JsonService(builtin_registry()) {}
};

TEST_F(JsonServiceBuiltin, AnswersEveryExampleAsTheRuntimeDoes) {
  for (const FunctionInfo* f : served_.runtime.registry().all()) {
    if (f->internal() || f->caps.side_effects == SideEffects::kChangesHandles) continue;
    if (f->example.empty()) continue;  // it reads files
    SCOPED_TRACE(f->full_name() + " " + f->example);
    ExecuteResult here = served_.runtime.execute(f->module, f->name, *parse_json_args(f->example), {"", {}, true});
    const pb::ExecuteResponse there = execute(f->module, f->name, f->example, "an id");
    EXPECT_EQ(there.result_json(), to_json(with_mutated(std::move(here.result), std::move(here.mutated))));
    EXPECT_TRUE(there.success());
    EXPECT_EQ(there.error(), "");
    EXPECT_EQ(there.engine_used(), "mojo");
    EXPECT_EQ(there.request_id(), "an id");
    EXPECT_GE(there.latency_ms(), 0);
  }
}

TEST_F(JsonServiceBuiltin, TheDocumentedExamples) {
  EXPECT_EQ(execute("llmk.residual", "residual_add_flat", "[[0,1,2,3,4,5],[10,9,8,7,6,5],6]").result_json(),
            R"({"out":[10.0,10.0,10.0,10.0,10.0,10.0],"n":6,"status":560})");
  EXPECT_EQ(execute("llmk.contract", "llmk_residual_dims_check", R"({"n":6,"len_a":2,"len_b":6})").result_json(),
            "562");
}

TEST_F(JsonServiceBuiltin, ARealVocabulary) {
  Rng rng(20261130);
  SCOPED_TRACE(rng.trace());
  std::vector<double> logits = rng.normals<double>(151936);
  logits[150000] = 50;
  const pb::ExecuteResponse r =
      execute("llmk.generate", "greedy_argmax_flat", to_json(List{logits, std::ssize(logits)}));
  EXPECT_EQ(r.result_json(), R"({"token_id":150000,"logit":50.0,"status":560})");
}

TEST_F(JsonService, FailuresAreAnswersWithACode) {
  const struct {
    const char *module, *function, *args, *error;
  } cases[] = {
      {"nope", "echo", "", "module_not_registered: Unknown runtime library 'nope'"},
      {"t", "nope", "", "function_not_registered: Runtime library 't' does not expose 'nope'"},
      {"t", "_block", "", "function_not_registered: Runtime library 't' does not expose '_block'"},
      {"t", "echo", "[1,2]", "invalid_arguments: t.echo takes 1 argument (x), got 2"},
      {"t", "ones", R"(["three"])", "invalid_arguments: t.ones: argument 'n' must be int, got string"},
      {"t", "ones", "[3.0]", "invalid_arguments: t.ones: argument 'n' must be int, got float"},
      {"t", "throws", "", "internal: t.throws: a kernel's own exception"},
  };
  for (const auto& c : cases) {
    const pb::ExecuteResponse r = execute(c.module, c.function, c.args, "an id");
    EXPECT_FALSE(r.success());
    EXPECT_EQ(r.error(), c.error);
    EXPECT_EQ(r.result_json(), "null");
    EXPECT_EQ(r.engine_used(), "none");
    EXPECT_EQ(r.request_id(), "an id");
  }
  for (const char* malformed : {"[1,", "{", "nul", "[1]x", "{\"a\":1,\"a\":2}", "[1e999]"}) {
    const pb::ExecuteResponse r = execute("t", "echo", malformed);
    EXPECT_TRUE(r.error().starts_with("invalid_arguments: args_json: ")) << r.error();
  }
}

TEST_F(JsonService, ChangedArgumentsComeBackUnderTheirNames) {
  EXPECT_EQ(execute("t", "double_all", "[[1,2]]").result_json(), R"({"result":2,"x":[2.0,4.0]})");
  // The kernel's own field "x" stays; "y" joins it.
  EXPECT_EQ(execute("t", "double_both", "[[1],[2]]").result_json(), R"({"x":[2.0],"status":7,"y":[4.0]})");
}

TEST_F(JsonService, NonFiniteNumbersAreStrings) {
  EXPECT_EQ(execute("t", "echo", "[[NaN,Infinity,-Infinity]]").result_json(), R"(["NaN","Infinity","-Infinity"])");
}

TEST_F(JsonService, InventoryAndHealth) {
  pb::HealthResponse health;
  grpc::ClientContext a, b, c;
  ASSERT_TRUE(stub_->Health(&a, pb::HealthRequest(), &health).ok());
  EXPECT_TRUE(health.ok());
  EXPECT_EQ(health.engine(), "mojo");
  EXPECT_EQ(health.version(), served_.runtime.health()->version);
  pb::RuntimeInfoResponse info;
  ASSERT_TRUE(stub_->GetRuntimeInfo(&b, pb::RuntimeInfoRequest(), &info).ok());
  EXPECT_EQ(info.module_count(), 1);
  EXPECT_TRUE(info.mojo_available());
  pb::ListModulesResponse modules;
  ASSERT_TRUE(stub_->ListModules(&c, pb::ListModulesRequest(), &modules).ok());
  ASSERT_EQ(modules.modules_size(), 1);
  EXPECT_EQ(modules.modules(0).name(), "t");
  EXPECT_EQ(modules.modules(0).engine(), "mojo");
  EXPECT_EQ(modules.modules(0).functions_size(), 9);
}

TEST_F(JsonService, WhatIsNotServedSaysSo) {
  pb::QueryExecuteResponse query;
  pb::VerifyAndExecuteResponse verified;
  pb::EntitlementResponse entitlement;
  grpc::ClientContext a, b, c;
  const grpc::Status statuses[] = {stub_->ExecuteQuery(&a, pb::QueryExecuteRequest(), &query),
                                   stub_->VerifyAndExecute(&b, pb::VerifyAndExecuteRequest(), &verified),
                                   stub_->GetEntitlementStatus(&c, pb::EntitlementRequest(), &entitlement)};
  for (const grpc::Status& status : statuses) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_NE(status.error_message().find(": krt "), std::string::npos) << status.error_message();
  }
}

}  // namespace
}  // namespace krt::testing
