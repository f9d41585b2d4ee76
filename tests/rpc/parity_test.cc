// One program text, either object: what a kernel answers remotely is what it answers here, to the last bit.

#include "client/cpp/mojo_runtime.h"
#include "krt/v1/kernel_runtime.pb.h"
#include "modules/builtin.h"
#include "runtime/codec/json.h"
#include "runtime/testing/random.h"
#include "tests/rpc/rpc_testing.h"

namespace krt::testing {
namespace {

// All but the time it took.
::testing::AssertionResult same_answer(const ExecuteResult& a, const ExecuteResult& b) {
  const auto differ = [](const std::string& what, const std::string& x, const std::string& y) {
    return ::testing::AssertionFailure() << what << ": " << x << " and " << y;
  };
  if (a.module != b.module || a.function != b.function || a.request_id != b.request_id)
    return differ("name", a.module + "." + a.function, b.module + "." + b.function);
  if (a.error.reason() != b.error.reason() || a.error.message() != b.error.message())
    return differ("error", a.error.message(), b.error.message());
  if (a.status != b.status || a.status_name != b.status_name) return differ("status", a.status_name, b.status_name);
  if (a.engine_used != b.engine_used) return differ("engine", a.engine_used, b.engine_used);
  if (!identical(a.result, b.result)) return differ("result", to_json(a.result), to_json(b.result));
  if (!identical(a.mutated, b.mutated)) return differ("mutated", to_json(a.mutated), to_json(b.mutated));
  return ::testing::AssertionSuccess();
}

TEST(Parity, EveryKindOfValueComesBackAsItWent) {
  Served served;
  Rng rng(20261130);
  SCOPED_TRACE(rng.trace());
  const double nan = std::bit_cast<double>(0x7FF8000000000123ULL), inf = HUGE_VAL;
  std::vector<Value> values{{},
                            true,
                            false,
                            0,
                            -1,
                            INT64_MIN,
                            INT64_MAX,
                            0.0,
                            -0.0,
                            5e-324,
                            inf,
                            -inf,
                            nan,
                            "",
                            "\xE2\x82\xAC",
                            List{},
                            Dict{},
                            List{1, List{2.5, "x"}, Dict{{"k", {}}}},
                            Dict{{"z", 1}, {"a", List{rng.normals<double>(5)}}},
                            std::vector<double>{nan, inf, -0.0, 5e-324},
                            rng.normals<float>(1000),
                            std::vector<std::int64_t>{},
                            rng.normals<double>(300000)};
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kU8, DType::kI16,
                            DType::kI32, DType::kI64}) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 0, 5}, Shape{2, 3}, Shape{2, 1, 3, 4}}) {
      Tensor t = *Tensor::zeros(dtype, shape);
      for (std::size_t i = 0; i < t.bytes(); ++i)
        static_cast<unsigned char*>(t.mutable_data())[i] = static_cast<unsigned char>(rng.integer(0, 255));
      values.emplace_back(t);
    }
  }
  for (const Value& value : values) {
    const Value args = Dict{{"x", value}};
    const ExecuteResult here = served.runtime.execute("t", "echo", args),
                        there = served.remote.execute("t", "echo", args);
    EXPECT_TRUE(here.success());
    EXPECT_TRUE(identical(here.result, value));
    EXPECT_TRUE(same_answer(here, there)) << type_text(value);
  }
}

TEST(Parity, ControlAnotherAnswerIsNoticed) {
  Served served;
  const ExecuteResult one = served.remote.execute("t", "echo", Dict{{"x", 0.0}});
  EXPECT_FALSE(same_answer(one, served.remote.execute("t", "echo", Dict{{"x", -0.0}})));
  EXPECT_FALSE(same_answer(one, served.remote.execute("t", "echo")));
}

// The examples that every function of the registry is documented with.
TEST(Parity, EveryExampleOfTheRegistry) {
  Served served(quiet_options(), builtin_registry());
  int compared = 0;
  for (const FunctionInfo* f : served.runtime.registry().all()) {
    // A handle is another one each time, and an internal function has no name for callers.
    if (f->internal() || f->caps.side_effects == SideEffects::kChangesHandles) continue;
    if (f->example.empty()) continue;  // it reads files
    SCOPED_TRACE(f->full_name() + " " + f->example);
    const Value args = *parse_json_args(f->example);
    const CallOptions options{"id " + f->name, {}, true};
    EXPECT_TRUE(same_answer(served.runtime.execute(f->module, f->name, args, options),
                            served.remote.execute(f->module, f->name, args, options)));
    EXPECT_TRUE(identical(*served.runtime.describe(f->module, f->name), *served.remote.describe(f->module, f->name)));
    ++compared;
  }
  EXPECT_GT(compared, 5);
}

TEST(Parity, ARealVocabularyAndRealProjections) {
  Served served(quiet_options(), builtin_registry());
  Rng rng(20261130);
  SCOPED_TRACE(rng.trace());
  std::vector<double> logits = rng.normals<double>(151936);
  logits[123456] = 100;
  const Value row = List{logits, std::ssize(logits)};
  const ExecuteResult argmax = served.remote.execute("llmk.generate", "greedy_argmax_flat", row);
  ASSERT_TRUE(argmax.success()) << argmax.error.message();
  EXPECT_EQ(*argmax.result["token_id"].get_if<std::int64_t>(), 123456);
  EXPECT_TRUE(same_answer(served.runtime.execute("llmk.generate", "greedy_argmax_flat", row), argmax));

  const std::pair<std::int64_t, std::int64_t> shapes[] = {{1024, 2048}, {1024, 3072}, {3072, 1024}};
  for (const auto& [m, n] : shapes) {
    const Value weights = rng.normals<float>(static_cast<std::size_t>(m * n));  // widened at binding, on both sides
    const Value args = List{weights, rng.normals<double>(static_cast<std::size_t>(m)), m, n};
    const ExecuteResult here = served.runtime.execute("llmk.gemv_fast", "gemv_transposed_parallel_flat", args);
    ASSERT_TRUE(here.success()) << here.error.message();
    EXPECT_EQ(here.status_name, "llmk_ok") << m << "x" << n;
    EXPECT_TRUE(same_answer(here, served.remote.execute("llmk.gemv_fast", "gemv_transposed_parallel_flat", args)));
  }
}

TEST(Parity, Failures) {
  Served served;
  const struct {
    const char *module, *function;
    Value args;
    Reason reason;
  } cases[] = {
      {"nope", "echo", {}, Reason::kModuleNotRegistered},
      {"", "", {}, Reason::kModuleNotRegistered},
      {"t", "nope", {}, Reason::kFunctionNotRegistered},
      {"t", "_block", {}, Reason::kFunctionNotRegistered},
      {"t", "", {}, Reason::kFunctionNotRegistered},
      {"t", "echo", List{1, 2}, Reason::kInvalidArguments},
      {"t", "ones", "three", Reason::kInvalidArguments},
      {"t", "ones", Dict{{"m", 3}}, Reason::kInvalidArguments},
      {"t", "double_all", Handle{1, 2}, Reason::kHandleNotFound},
      {"t", "throws", {}, Reason::kInternal},
      {"t", "ones", std::int64_t{1} << 60U, Reason::kResourceExhausted},
  };
  for (const auto& c : cases) {
    const ExecuteResult here = served.runtime.execute(c.module, c.function, c.args, {"an id", {}, true});
    EXPECT_EQ(here.error.reason(), c.reason) << here.error.message();
    EXPECT_TRUE(same_answer(here, served.remote.execute(c.module, c.function, c.args, {"an id", {}, true})));
  }
}

TEST(Parity, Inventory) {
  Served served(quiet_options(), builtin_registry());
  const std::vector<ModuleInfo> here = *served.runtime.list_modules(), there = *served.remote.list_modules();
  ASSERT_EQ(here.size(), there.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(here[i].name, there[i].name);
    EXPECT_EQ(here[i].engine, there[i].engine);
    EXPECT_EQ(here[i].functions, there[i].functions);
    EXPECT_EQ(*served.remote.list_functions(here[i].name), here[i].functions);
    EXPECT_TRUE(identical(*served.runtime.describe(here[i].name, ""), *served.remote.describe(here[i].name, "")));
  }
  for (const char* module : {"nope", ""}) {
    EXPECT_EQ(served.remote.list_functions(module).status().message(),
              served.runtime.list_functions(module).status().message());
    EXPECT_EQ(served.remote.describe(module, "x").status().reason(), Reason::kModuleNotRegistered);
  }
  const Health health = *served.remote.health();
  EXPECT_TRUE(health.ok);
  EXPECT_EQ(health.engine, "mojo");
  EXPECT_EQ(health.version, served.runtime.health()->version);
}

// The rest runs with the local object and with the remote one.
class Either : public ::testing::TestWithParam<bool> {
 protected:
  RuntimeApi& api() {
    if (GetParam()) return served_.remote;
    return served_.runtime;
  }
  Served served_;
};
INSTANTIATE_TEST_SUITE_P(Runtime, Either, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Remote" : "Local"; });

TEST_P(Either, ChangesTheCallersTensorsInPlace) {
  std::vector<double> x{1, 2}, y{3};
  const Value tx = Tensor::borrow_mutable<double>(x), ty = Tensor::borrow_mutable<double>(y);
  const ExecuteResult r = api().execute("t", "double_both", List{tx, ty});
  ASSERT_TRUE(r.success()) << r.error.message();
  EXPECT_EQ(x, (std::vector<double>{2, 4}));
  EXPECT_EQ(y, std::vector<double>{6});
  EXPECT_EQ(r.status, 7);
  EXPECT_EQ(r.status_name, "t_ok");
  ASSERT_EQ(r.mutated.size(), 2U);
  EXPECT_EQ(r.mutated[1].first, "y");

  EXPECT_TRUE(api().execute("t", "double_both", Dict{{"y", ty}, {"x", tx}}).success());
  EXPECT_EQ(x, (std::vector<double>{4, 8}));
  EXPECT_EQ(y, std::vector<double>{12});
  EXPECT_TRUE(api().execute("t", "double_all", tx).success());
  EXPECT_EQ(x, (std::vector<double>{8, 16}));
  EXPECT_TRUE((*api().function("t", "double_all"))(tx).ok());
  EXPECT_EQ(x, (std::vector<double>{16, 32}));
  const BatchItem items[] = {{"t", "double_all", tx}, {"t", "double_all", List{ty}}};
  EXPECT_EQ(api().execute_batch(items).size(), 2U);
  EXPECT_EQ(x, (std::vector<double>{32, 64}));
  EXPECT_EQ(y, std::vector<double>{24});
}

TEST_P(Either, KeepsValuesByHandle) {
  const Handle h = *api().put(std::vector<double>{1, 2}, "weights");
  EXPECT_TRUE(identical(*api().get(h), std::vector<double>{1, 2}));
  const std::vector<HandleTable::Entry> entries = *api().list_handles();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].handle, h);
  EXPECT_EQ(entries[0].name, "weights");
  EXPECT_EQ(entries[0].type, "f64[2]");
  EXPECT_EQ(entries[0].bytes, 16U);
  EXPECT_TRUE(api().execute("t", "double_all", h).mutated.empty());
  EXPECT_TRUE(identical(*api().get(h), std::vector<double>{2, 4}));
  EXPECT_TRUE(api().free(h).ok());
  EXPECT_EQ(api().free(h).reason(), Reason::kHandleNotFound);
  EXPECT_TRUE(api().get(h).status().message().ends_with(" was freed"));
  EXPECT_TRUE(api().get({h.runtime + 2, h.id}).status().message().ends_with(" belongs to another runtime"));
  EXPECT_EQ(api().execute("t", "double_all", h).error.reason(), Reason::kHandleNotFound);
}

TEST_P(Either, ABatchAnswersEveryItemInOrder) {
  const BatchItem items[] = {{"t", "echo", List{1}, {"first", {}, false}},
                             {"t", "nope", {}, {"second", {}, false}},
                             {"t", "throws", {}},
                             {"t", "ones", 2, {"fourth", {}, false}}};
  const std::vector<ExecuteResult> r = api().execute_batch(items);
  ASSERT_EQ(r.size(), 4U);
  EXPECT_TRUE(identical(r[0].result, 1));
  EXPECT_EQ(r[0].request_id, "first");
  EXPECT_EQ(r[1].error.reason(), Reason::kFunctionNotRegistered);
  EXPECT_EQ(r[2].error.message(), "t.throws: a kernel's own exception");
  EXPECT_TRUE(identical(r[3].result, std::vector<double>{1, 1}));
  EXPECT_TRUE(api().execute_batch({}).empty());
}

TEST_P(Either, ABatchItemHasADeadlineOfItsOwn) {
  BatchItem late{"t", "count", {}, {"late", {}, false}};
  late.options.control.deadline = Clock::now() - std::chrono::seconds(1);
  const BatchItem items[] = {late, {"t", "count", {}, {"in time", {}, false}}};
  const std::vector<ExecuteResult> r = api().execute_batch(items);
  EXPECT_EQ(r[0].error.reason(), Reason::kDeadlineExceeded);
  EXPECT_TRUE(r[1].success());
  EXPECT_EQ(runs, 1);
}

TEST_P(Either, AFunctionIsResolvedOnce) {
  EXPECT_TRUE(identical(*(*api().function("t", "ones"))(3), std::vector<double>{1, 1, 1}));
  EXPECT_EQ(api().function("t", "nope").status().reason(), Reason::kFunctionNotRegistered);
  EXPECT_EQ(api().function("t", "").status().message(), "Runtime library 't' does not expose ''");
  EXPECT_EQ(api().function("nope", "").status().message(), "Unknown runtime library 'nope'");
  EXPECT_EQ((*api().function("t", "ones"))("x").status().reason(), Reason::kInvalidArguments);
}

TEST(MojoRuntime, IsEither) {
  Served served(quiet_options(), builtin_registry());
  const Value args = List{std::vector<double>{1, 2}, std::vector<double>{3, 4}, 2};
  MojoRuntime local, remote("remote", served.server->address());
  const ExecuteResult here = local.execute("llmk.residual", "residual_add_flat", args, "an id");
  EXPECT_TRUE(identical(here.result["out"], std::vector<double>{4, 6}));
  EXPECT_TRUE(same_answer(here, remote.execute("llmk.residual", "residual_add_flat", args, "an id")));
  EXPECT_EQ(remote.list_modules()->size(), local.list_modules()->size());
  EXPECT_THROW(MojoRuntime("cloud"), std::invalid_argument);
  EXPECT_EQ(connect("cloud").status().message(), "a runtime's mode is 'local' or 'remote', got 'cloud'");
}

TEST(MojoRuntime, NobodyThereIsUnavailable) {
  std::string address;
  {
    Served served;
    address = served.server->address();
  }
  MojoRuntime runtime("remote", address);
  const ExecuteResult r = runtime.execute("t", "echo", 1);
  EXPECT_EQ(r.error.reason(), Reason::kRuntimeUnavailable);
  EXPECT_TRUE(r.error.message().starts_with("no krt server answers at " + address)) << r.error.message();
  EXPECT_EQ(r.engine_used, "none");
  EXPECT_EQ(runtime.health().status().reason(), Reason::kRuntimeUnavailable);
  EXPECT_EQ(runtime.list_modules().status().reason(), Reason::kRuntimeUnavailable);
  EXPECT_EQ(runtime.api().put(1).status().reason(), Reason::kRuntimeUnavailable);
}

}  // namespace
}  // namespace krt::testing
