#include "runtime/registry/registry.h"

#include <gtest/gtest.h>

#include "runtime/registry/module_builder.h"

namespace krt {
namespace {

enum Codes : std::int64_t { kOk = 10, kBad = 11 };
constexpr std::array<StatusEntry, 2> kTable{{{kOk, "t_ok", "it ran"}, {kBad, "t_bad", "it did not"}}};

struct SumResult {
  double sum;
  std::vector<float> parts;
  std::int64_t status;
  static constexpr std::array kFields{"sum", "parts", "status"};
};
SumResult sum(std::span<const double> x, std::int64_t n) { return {static_cast<double>(n) + x[0], {}, kOk}; }
struct TextStatus {
  std::string status;
  static constexpr std::array kFields{"status"};
};
TextStatus text_status() { return {"fine"}; }
std::int64_t identity(std::int64_t x) { return x; }
void fill(ModuleBuilder m, Text name) { m.function<identity>(name, "Answers x", {{"x", "a number"}}).example("[1]"); }

TEST(RegistryType, ListsAreSortedAndWithoutInternalFunctions) {
  Registry r;
  ModuleBuilder beta(r, "beta", "The second module");
  for (const Text name : {Text("zeta"), Text("_hidden"), Text("alpha")}) fill(beta, name);
  fill({r, "alpha.inner", "The first module"}, "f");
  fill({r, "hidden", "Has internal functions only"}, "_f");
  ASSERT_TRUE(r.freeze().ok());
  EXPECT_EQ(r.modules(), (std::vector<std::string>{"alpha.inner", "beta"}));
  EXPECT_EQ(*r.functions("beta"), (std::vector<std::string>{"alpha", "zeta"}));
  EXPECT_EQ(r.module_summary("beta"), "The second module");
  EXPECT_EQ(r.module_summary("nope"), "");
  std::vector<std::string> all;
  for (const FunctionInfo* info : r.all()) all.push_back(info->full_name());
  EXPECT_EQ(all, (std::vector<std::string>{"alpha.inner.f", "beta._hidden", "beta.alpha", "beta.zeta", "hidden._f"}));
}

TEST(RegistryType, LookUpsNameWhatIsMissing) {
  Registry r;
  fill({r, "m", "A module"}, "f");
  fill({r, "m", "A module"}, "_f");
  fill({r, "hidden", "A module"}, "_f");
  ASSERT_TRUE(r.freeze().ok());
  EXPECT_EQ((*r.lookup("m", "f"))->full_name(), "m.f");
  EXPECT_NE(r.find("m", "_f"), nullptr) << "internal functions are there for C++";
  const struct {
    std::string_view module, function;
    Reason reason;
    std::string_view message;
  } rows[] = {
      {"m", "nope", Reason::kFunctionNotRegistered, "Runtime library 'm' does not expose 'nope'"},
      {"m", "", Reason::kFunctionNotRegistered, "Runtime library 'm' does not expose ''"},
      {"m", "_f", Reason::kFunctionNotRegistered, "Runtime library 'm' does not expose '_f'"},
      {"m", "F", Reason::kFunctionNotRegistered, "Runtime library 'm' does not expose 'F'"},
      {"m", "f ", Reason::kFunctionNotRegistered, "Runtime library 'm' does not expose 'f '"},
      {"m", "\xFF", Reason::kFunctionNotRegistered, "Runtime library 'm' does not expose '\\xff'"},
      {"nope", "f", Reason::kModuleNotRegistered, "Unknown runtime library 'nope'"},
      {"", "", Reason::kModuleNotRegistered, "Unknown runtime library ''"},
      {"m.f", "", Reason::kModuleNotRegistered, "Unknown runtime library 'm.f'"},
      {"hidden", "_f", Reason::kModuleNotRegistered, "Unknown runtime library 'hidden'"},
  };
  for (const auto& row : rows) {
    const Result<const FunctionInfo*> found = r.lookup(row.module, row.function);
    EXPECT_EQ(found.status().reason(), row.reason);
    EXPECT_EQ(found.status().message(), row.message);
  }
  EXPECT_EQ(r.functions("nope").status().message(), "Unknown runtime library 'nope'");
}

TEST(RegistryType, BeforeFreezingNothingIsFound) {
  Registry r;
  EXPECT_EQ(r.find("m", "f"), nullptr);
  fill({r, "m", "A module"}, "f");
  EXPECT_EQ(r.find("m", "f"), nullptr);
  EXPECT_FALSE(r.frozen());
}

TEST(RegistryType, FreezingRefusesEveryUnfitDeclarationAtOnce) {
  Registry r;
  fill({r, "m", "A module"}, "twice");
  fill({r, "m", "A module"}, "twice");
  ModuleBuilder m(r, "m", "A module");
  m.function<identity>("no_example", "Answers x", {{"x", "a number"}});
  m.function<identity>("_internal_without_example", "Answers x", {{"x", "a number"}});
  m.function<sum>("no_table", "Adds", {{"x", "numbers"}, {"n", "a number"}}).example("[[1],1]");
  m.function<sum>("same_names", "Adds", {{"x", "numbers"}, {"x", "a number"}}).statuses(kTable).example("[[1],1]");
  r.add("m", "nothing");
  const Status refused = r.freeze();
  EXPECT_EQ(refused.message(),
            "the registry cannot be served: m.twice is registered twice; m.no_example has no example; "
            "m.no_table returns a status but has no status table; m.same_names names parameter 'x' twice; "
            "m.nothing has no implementation");
}

TEST(RegistryType, SurvivesAMove) {
  Registry r;
  fill({r, "m", "A module"}, "f");
  ASSERT_TRUE(r.freeze().ok());
  const FunctionInfo* before = r.find("m", "f");
  const Registry moved = std::move(r);
  EXPECT_EQ(moved.find("m", "f"), before);
  EXPECT_EQ(moved.functions("m")->size(), 1U);
}

TEST(RegistryType, FindsEachOfManyNames) {
  Registry r;
  for (int i = 0; i < 3000; ++i) {
    FunctionInfo& info =
        r.add("m" + std::to_string(i % 7), std::string(static_cast<std::size_t>(i % 31), 'x') + std::to_string(i));
    info.thunk = &Binding<identity>::call;
    info.example = "[1]";
  }
  ASSERT_TRUE(r.freeze().ok());
  for (const FunctionInfo* info : r.all()) {
    ASSERT_EQ(r.find(info->module, info->name), info);
    ASSERT_EQ(r.find(info->module, info->name + "x"), nullptr);
    ASSERT_EQ(r.find(info->module + info->name, ""), nullptr);
  }
}

TEST(Declaration, TheSignatureIsThatOfTheFunction) {
  Registry r;
  ModuleBuilder m(r, "m", "A module");
  m.function<sum>("sum", "Adds", {{"x", "numbers"}, {"n", "a number", 3}}).statuses(kTable).example("[[1]]");
  m.function<text_status>("text_status", "Answers fine").example("[]");
  ASSERT_TRUE(r.freeze().ok());
  const FunctionInfo& info = *r.find("m", "sum");
  EXPECT_EQ(info.signature(), "sum(x: f64[n], n: int = 3) -> SumResult{sum: float, parts: f32[n], status: int}");
  EXPECT_EQ(info.status_field, 2);
  EXPECT_EQ(r.find("m", "text_status")->signature(), "text_status() -> TextStatus{status: string}");
  EXPECT_EQ(r.find("m", "text_status")->status_field, -1) << "a text is no numeric status";
}

TEST(Declaration, DescribeTellsEverything) {
  Registry r;
  ModuleBuilder(r, "m", "A module")
      .function<sum>("sum", "Adds", {{"x", "numbers"}, {"n", "a number", 3}})
      .statuses(kTable)
      .details("More about it")
      .caps({.determinism = Determinism::kBitExactPerVariant, .seed = Seed::kOptional})
      .example("[[1]]");
  ASSERT_TRUE(r.freeze().ok());
  const Value d = r.find("m", "sum")->describe();
  EXPECT_TRUE(identical(d["module"], "m"));
  EXPECT_TRUE(identical(d["name"], "sum"));
  EXPECT_TRUE(identical(d["summary"], "Adds"));
  EXPECT_TRUE(identical(d["details"], "More about it"));
  EXPECT_TRUE(identical(d["params"], List{Dict{{"name", "x"}, {"type", "f64[n]"}, {"doc", "numbers"}},
                                          Dict{{"name", "n"}, {"type", "int"}, {"doc", "a number"}, {"default", 3}}}));
  EXPECT_TRUE(identical(d["result_struct"], "SumResult"));
  EXPECT_TRUE(identical(d["capabilities"], Dict{{"deterministic", true},
                                                {"determinism", "bit_exact_per_variant"},
                                                {"seed_requirements", "optional"},
                                                {"in_place", List{}},
                                                {"side_effects", "none"}}));
  EXPECT_TRUE(identical(d["statuses"], List{Dict{{"code", 10}, {"name", "t_ok"}, {"meaning", "it ran"}},
                                            Dict{{"code", 11}, {"name", "t_bad"}, {"meaning", "it did not"}}}));
  EXPECT_TRUE(identical(d["example"], "[[1]]"));
}

TEST(Declaration, StatusNames) {
  EXPECT_EQ(status_name(kTable, 11, "unknown"), "t_bad");
  EXPECT_EQ(status_name(kTable, 12, "unknown"), "unknown");
  EXPECT_EQ(status_name({}, 10, "unknown"), "unknown");
}

}  // namespace
}  // namespace krt
