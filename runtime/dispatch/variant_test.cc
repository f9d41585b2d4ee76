#include "runtime/dispatch/variant.h"

#include <gtest/gtest.h>

#include "runtime/dispatch/why.h"
#include "runtime/registry/module_builder.h"
#include "runtime/runtime.h"

namespace krt {
namespace {

using Form = int();

std::string_view small_only(std::span<const std::int64_t> shape) { return shape[0] > 8 ? "shape" : ""; }

// A route whose first row this machine cannot run, whose second takes small shapes and whose last takes anything.
const Isa kForeign = cpu_has(Isa::kNeon) ? Isa::kSse4 : Isa::kNeon;
const std::vector<Variant<Form>>& route() {
  static const std::vector<Variant<Form>> list{
      {"foreign", +[] { return 1; }, kForeign},
      {"small", +[] { return 2; }, Isa::kScalar, small_only},
      {"scalar", +[] { return 3; }, Isa::kScalar},
  };
  return list;
}

// A kernel on that route, registered and called like any other.
std::int64_t serve(Context& context, std::int64_t n) { return pick(context, route(), {n}).run(); }
std::int64_t serve_small(Context& context, std::int64_t n) {
  static const std::vector<Variant<Form>> list{route()[0], route()[1]};
  return pick(context, list, {n}).run();
}
std::int64_t plain(std::int64_t n) { return n; }
Registry registry() {
  Registry r;
  ModuleBuilder m(r, "test", "A module of the dispatch tests");
  m.function<serve>("serve", "Answers the number of its variant", {{"n", "size"}})
      .variants(infos(route()), "n")
      .example("[1]");
  std::vector<VariantInfo> gated = infos(route());
  gated.pop_back();
  m.function<serve_small>("serve_small", "Has no variant for large sizes", {{"n", "size"}})
      .variants(std::move(gated), "n")
      .example("[1]");
  m.function<plain>("plain", "Has no variants", {{"n", "a number"}}).example("[1]");
  EXPECT_TRUE(r.freeze().ok());
  return r;
}

struct Fixture {
  Arena arena{1};
  HandleTable handles;
  Context context{arena, handles};
};

TEST(Pick, TheFirstThatNoGateRefusesServesAndIsNamed) {
  Fixture f;
  EXPECT_EQ(serve(f.context, 8), 2);
  EXPECT_EQ(f.context.variant, "small");
  EXPECT_EQ(serve(f.context, 9), 3);
  EXPECT_EQ(f.context.variant, "scalar");
}

TEST(Pick, TheContextForcesOne) {
  Fixture f;
  f.context.force_variant = "scalar";
  EXPECT_EQ(serve(f.context, 1), 3);
  EXPECT_EQ(f.context.variant, "scalar");
}

std::string refusal_of(Context& context, std::int64_t n) {
  try {
    serve(context, n);
  } catch (const StatusError& e) {
    EXPECT_EQ(e.status().reason(), Reason::kNoVariant);
    return e.what();
  }
  return "served";
}

TEST(Pick, AForcedVariantThatCannotServeIsRefusedByName) {
  Fixture f;
  f.context.force_variant = "foreign";
  EXPECT_EQ(refusal_of(f.context, 9), "variant 'foreign' is forced: foreign (cpu) small (shape) scalar (not forced)");
  f.context.force_variant = "small";
  EXPECT_EQ(refusal_of(f.context, 9), "variant 'small' is forced: foreign (cpu) small (shape) scalar (not forced)");
  f.context.force_variant = "no such";
  EXPECT_NE(refusal_of(f.context, 1), "served");
}

TEST(Pick, AnEmptySurvivorSetIsANamedRefusalOfTheCall) {
  Runtime runtime(registry(), {.threads = 1});
  EXPECT_EQ(runtime.execute("test", "serve_small", List{1}).engine_used, "small");
  const ExecuteResult r = runtime.execute("test", "serve_small", List{9});
  EXPECT_EQ(r.error.reason(), Reason::kNoVariant);
  EXPECT_EQ(r.error.message(), "test.serve_small: no variant serves the call: foreign (cpu) small (shape)");
  EXPECT_EQ(r.engine_used, "none");
}

TEST(Variants, TestsWalkThoseOfThisMachine) {
  std::vector<std::string_view> names;
  for (const Variant<Form>& v : variants_here(route())) names.push_back(v.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"small", "scalar"}));
}

TEST(Variants, ListsWhatWasCompiledBestFirstWithThePlainFormLast) {
  const SimdForms<Form> forms{nullptr, +[] { return 1; }, nullptr, +[] { return 2; }, nullptr};
  const auto list = simd_variants<Form>(
      forms, +[] { return 0; });
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].name, "avx3");
  EXPECT_EQ(list[1].name, "sse4");
  EXPECT_EQ(list[2].name, "scalar");
  EXPECT_EQ(list[2].run(), 0);
}

TEST(Variants, DescribeNamesTheGateOfEach) {
  Runtime runtime(registry(), {.threads = 1});
  const Value d = runtime.describe("test", "serve").value();
  const auto& rows = *d["variants"].get_if<List>();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(*rows[0]["refused_by"].get_if<std::string>(), "cpu");
  EXPECT_TRUE(rows[1]["refused_by"].is_null()) << "a shape gate passes where no shape is asked about";
  EXPECT_EQ(*d["variant_shape"].get_if<std::string>(), "n");
}

std::string text_of(const Why& why) {
  std::string out;
  for (const WhyRow& row : why.rows)
    out += std::string(row.variant) + "=" + (row.refused_by.empty() ? "serves" : std::string(row.refused_by)) + " ";
  return out;
}

TEST(Why, NamesTheRowThatServesAndTheGateOfEveryOther) {
  const Registry r = registry();
  const FunctionInfo& info = *r.find("test", "serve");
  EXPECT_EQ(text_of(why(info, std::vector<std::int64_t>{8}).value()), "foreign=cpu small=serves scalar=order ");
  EXPECT_EQ(text_of(why(info, std::vector<std::int64_t>{9}).value()), "foreign=cpu small=shape scalar=serves ");
  EXPECT_EQ(why(info, std::vector<std::int64_t>{9}).value().served_by, "scalar");
  EXPECT_EQ(text_of(why(*r.find("test", "plain"), {}).value()), "reference=serves ");
}

TEST(Why, AnEmptySurvivorSetIsNoVariant) {
  const Registry r = registry();
  const FunctionInfo& info = *r.find("test", "serve_small");
  const Why none = why(info, std::vector<std::int64_t>{9}).value();
  EXPECT_EQ(survivor(info, none).reason(), Reason::kNoVariant);
  EXPECT_EQ(survivor(info, none).message(),
            "test.serve_small: no variant serves the call: foreign (cpu) small (shape)");
  EXPECT_TRUE(survivor(info, why(info, std::vector<std::int64_t>{1}).value()).ok());
}

TEST(Why, RefusesAShapeThatIsNotTheKernels) {
  const Registry r = registry();
  const FunctionInfo& info = *r.find("test", "serve");
  EXPECT_EQ(why(info, std::vector<std::int64_t>{1, 2}).status().message(), "test.serve: the shape is n, got 2 numbers");
  EXPECT_FALSE(why(info, std::vector<std::int64_t>{-1}).ok());
  EXPECT_FALSE(why(*r.find("test", "plain"), std::vector<std::int64_t>{1}).ok());
}

TEST(Why, ParsesShapes) {
  EXPECT_EQ(parse_shape("1x4096").value(), (std::vector<std::int64_t>{1, 4096}));
  EXPECT_EQ(parse_shape("7").value(), (std::vector<std::int64_t>{7}));
  for (const char* text : {"", "x", "1x", "x1", "1X2", "-1x2", "1x-2", "1 x 2", "1.5", "99999999999999999999"})
    EXPECT_FALSE(parse_shape(text).ok()) << text;
}

}  // namespace
}  // namespace krt
